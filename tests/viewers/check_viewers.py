"""check_viewers.py FILE...: open results files in h5py, xarray (both engines), ncdump, h5dump, h5ls, silx, Octave, R
(ncdf4, hdf5r) and H5Web.

H5Web needs a folder made by tests/viewers/make_h5web.sh, named in the environment variable H5WEB.

Each tool must see every group and every named dimension, without a complaint. Exit status 77 where h5py or xarray is
not installed; the other tools are left out one by one, and said so.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings

try:
    import h5py
    import netCDF4  # noqa: F401: warns when it is first imported, which is not the file's fault
    import xarray
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def data_groups(file):
    """Paths of all groups that hold measures."""
    found = []

    def visit(name, item):
        if isinstance(item, h5py.Group) and item.attrs.get("NX_class") == "NXdata":
            found.append(name)

    file.visititems(visit)
    return found


def dimensions(dataset):
    return tuple(list(dim.keys())[0] for dim in dataset.dims)


def is_scale(dataset):
    return dataset.attrs.get("CLASS") == b"DIMENSION_SCALE"


def check_h5py(path):
    """Returns {group: {variable: dimensions}}, which the other tools are held against."""
    layout = {}
    with h5py.File(path) as file:
        assert file.attrs["NX_class"] == "NXroot"
        assert file.attrs["format"] == "pe-run"
        assert sorted(file)[-1] == "run", "Octave stops at the first text: run must sort last"
        for text in file["run"].values():
            text = text["data"] if isinstance(text, h5py.Group) else text
            assert isinstance(text.asstr()[()], str)
        for name in data_groups(file):
            group = file[name]
            signal = group.attrs["signal"]
            assert isinstance(signal, str) and signal in group
            layout[name] = {}
            for key, dataset in group.items():
                assert dataset.dtype.kind in "fiu", f"{name}/{key}: {dataset.dtype}"
                if is_scale(dataset):
                    continue
                assert all(len(dim) == 1 for dim in dataset.dims)
                layout[name][key] = dimensions(dataset)
                assert isinstance(dataset.attrs["long_name"], str)
                dataset[()]
            axes = tuple(group.attrs["axes"]) if "axes" in group.attrs else ()
            assert axes == layout[name][signal]
    assert layout, "no group with measures"
    return layout


def check_xarray(path, layout, engine):
    for name, variables in layout.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with xarray.open_dataset(path, group=name, engine=engine) as dataset:
                for key, dims in variables.items():
                    assert dataset[key].dims == dims, f"{engine} {name}/{key}: {dataset[key].dims} is not {dims}"
                    assert set(dims) <= set(dataset.coords), f"{engine} {name}/{key}: {dataset.coords}"
                    assert dataset[key].attrs["long_name"]
                dataset.load()
    with xarray.open_dataset(path, group="run", engine=engine) as run:
        for value in run.values():
            assert value.dtype.kind in "UO"


def run(*command, seconds=240):
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def check_ncdump(path, layout):
    header = run("ncdump", "-h", path)
    for variables in layout.values():
        for key, dims in variables.items():
            shown = f" {key}({', '.join(dims)})" if dims else f" {key} ;"
            assert shown in header, f"ncdump: no '{shown}'"
    run("ncdump", path)


def check_h5dump(path, layout):
    text = run("h5dump", path)
    for name in layout:
        assert f'"{name.split("/")[-1]}"' in text
    run("h5ls", "-r", path)


def check_silx(path, layout):
    import silx.io
    import silx.io.nxdata

    with silx.io.open(path) as file:
        shown = silx.io.nxdata.get_default(file)
        assert shown is not None and shown.is_valid and shown.issues == []
        for name in layout:
            data = silx.io.nxdata.get_default(file[name])
            assert data is not None and data.is_valid, f"silx: {name}"
            assert data.issues == [], f"silx: {name}: {data.issues}"


def check_octave(path, layout):
    """Octave counts dimensions from the other end, as MATLAB and Julia do. Its ncinfo (1.0.16) knows no text attributes
    of variable length, in any file, and is not asked."""
    lines = ["pkg load netcdf;", f"all = load('-hdf5', '{path}');"]
    with h5py.File(path) as file:
        for name, variables in layout.items():
            experiment, scheme = name.split("/")
            lines += [f"assert(isnumeric(all.{experiment}.{scheme}.{key}));" for key in variables]
            # Each call of ncread goes through the whole file: one per group.
            signal = file[name].attrs["signal"]
            shape = (1,) + file[name][signal].shape
            lines.append(f"x = ncread('{path}', '/{name}/{signal}');")
            lines.append(f"assert(numel(x) == {file[name][signal].size} && size(x, 1) == {shape[-1]});")
    run("octave-cli", "--norc", "--eval", "\n".join(lines))


def check_r(path, layout):
    """Its packages count dimensions from the other end."""
    lines = ["library(ncdf4)", "suppressMessages(library(hdf5r))",
             f"n <- nc_open('{path}')", f"h <- H5File$new('{path}', 'r')",
             "stopifnot(nchar(ncvar_get(n, 'run/config')) > 0, ncatt_get(n, 0, 'format')$value == 'pe-run')"]
    with h5py.File(path) as file:
        for name in layout:
            signal = file[name].attrs["signal"]
            place = f"{name}/{signal}"
            names = ", ".join(f"'{name}/{axis}'" for axis in reversed(layout[name][signal]))
            lines += [f"x <- as.vector(ncvar_get(n, '{place}'))", f"y <- as.vector(h[['{place}']]$read())",
                      f"stopifnot(length(x) == {file[place].size}, all.equal(x, y))",
                      f"stopifnot(h5attr(h[['{name}']], 'status') == '{file[name].attrs['status']}')"]
            if names:
                lines.append(f"stopifnot(identical(sapply(n$var[['{place}']]$dim, function(d) d$name), c({names})))")
    with tempfile.NamedTemporaryFile("w", suffix=".R") as script:
        script.write("\n".join(lines))
        script.flush()
        run("Rscript", "--vanilla", script.name)


def r_is_there():
    probe = "quit(status = !all(sapply(c('ncdf4', 'hdf5r'), requireNamespace, quietly = TRUE)))"
    return shutil.which("Rscript") and subprocess.run(["Rscript", "--vanilla", "-e", probe]).returncode == 0


def label_of(dataset):
    """As H5Web writes it beside an axis."""
    return dataset.attrs["long_name"]


def view(group, path):
    """What H5Web must show when `path` is selected, which leads to the plot of `group`."""
    signal = group[group.attrs["signal"]]
    names = dimensions(signal)
    if signal.ndim == 0:
        return {"path": path, "shows": []}
    kind = "NX Heatmap" if signal.ndim > 1 else "NX Line"
    return {"path": path, "shows": [kind] + [label_of(group[name]) for name in names[-2:]]}


def check_h5web(path, layout):
    """The root and every experiment plot at once; one record of each kind of heat map has its axes labelled."""
    with h5py.File(path) as file:
        first = file[file.attrs["default"]]
        views = [view(first[first.attrs["default"]], "/")]
        kinds = set()
        for name in layout:
            kind = (name.split("/")[0], file[name].attrs["signal"])
            if file[name][kind[1]].ndim > 1 and kind not in kinds:
                kinds.add(kind)
                views.append(view(file[name], "/" + name))
    with tempfile.NamedTemporaryFile("w", suffix=".json") as list_of_views:
        json.dump(views, list_of_views)
        list_of_views.flush()
        run("node", os.path.join(os.environ["H5WEB"], "check_h5web.mjs"), path, list_of_views.name, seconds=900)


def h5web_is_there():
    there = os.path.exists(os.path.join(os.environ.get("H5WEB", ""), "dist", "page.js"))
    return there and shutil.which("node") and shutil.which("chromium")


def main():
    tools = [
        ("ncdump", shutil.which("ncdump"), check_ncdump),
        ("h5dump", shutil.which("h5dump"), check_h5dump),
        ("silx", True, check_silx),
        ("octave", shutil.which("octave-cli"), check_octave),
        ("H5Web", h5web_is_there(), check_h5web),
    ]
    layouts = {}
    for path in sys.argv[1:]:
        layout = layouts[path] = check_h5py(path)
        for engine in ("h5netcdf", "netcdf4"):
            check_xarray(path, layout, engine)
        print(f"{path}: h5py, xarray: {len(layout)} groups")
        for name, there, check in tools:
            try:
                if not there:
                    raise ImportError(f"{name} is not installed")
                check(path, layout)
                print(f"{path}: {name}")
            except ImportError as missing:
                print(f"{path}: left out: {missing}")
    # R's packages take seconds to load and to open a file of many variables: of several files one stands for all.
    smallest = min(layouts, key=os.path.getsize)
    if len(layouts) == 1:
        return
    if r_is_there():
        check_r(smallest, layouts[smallest])
        print(f"{smallest}: R")
    else:
        print(f"{smallest}: left out: R with ncdf4 and hdf5r is not installed")


main()
