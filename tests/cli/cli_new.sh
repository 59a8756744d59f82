# pe-run new: what it refuses, and that it leaves nothing behind then. What it writes is built in tests/out_of_tree.
. "$SOURCE/tests/cli/checks.sh"
rm -rf fresh folder other
mkdir folder
cd folder

expect_code 2 "$PE_RUN" new
expect_code 2 "$PE_RUN" new one two
expect_code 2 "$PE_RUN" new fresh --site scores
expect_output "'scores' is none of embed, qk, bias"
expect_code 2 "$PE_RUN" new fresh --lang rust
expect_output "'rust' is none of c, c++"
for name in 1st my-scheme "my scheme" ../up a/b "" . -- comparison_x x_status head "$(printf '%065d' 0 | tr 0 a)"; do
  expect_code 2 "$PE_RUN" new -- "$name"
done
expect_output "cannot be the id of a scheme"
expect_code 2 "$PE_RUN" new test
expect_output "CMake has a target of that name"
for name in rope none table; do
  expect_code 2 "$PE_RUN" new "$name"
  expect_output "there is a scheme '$name' already"
done
rm output
[ -z "$(ls -A)" ] || { echo "something is left:"; ls -A; exit 1; }

# What is there already stays as it is.
mkdir folder_there
echo mine >file_there
ln -s nowhere link_there
for name in folder_there file_there link_there; do
  expect_code 4 "$PE_RUN" new "$name"
  expect_output "$name is there already"
done
[ -z "$(ls -A folder_there)" ]
[ "$(cat file_there)" = mine ]

expect_code 0 "$PE_RUN" new fresh --site qk --lang c++
expect_output "cmake -S fresh -B fresh/build && cmake --build fresh/build"
[ "$(ls fresh | tr '\n' ' ')" = "CMakeLists.txt README.md fresh.cpp fresh.yaml " ]
if grep -r my_scheme fresh; then exit 1; fi
expect_code 4 "$PE_RUN" new fresh
# A full disk half-way takes away what was made (a file size limit stands in for it).
expect_code 4 sh -c 'ulimit -f 1; exec "$0" new halfway' "$PE_RUN"
expect_output "halfway/"
[ ! -e halfway ]
