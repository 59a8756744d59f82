/* `pe-run compare` against tensors that other programs wrote, some of them with a known fault: the fault is named.
 * Where no file of a fault is at hand, it is made here from the formula, in the test's own words. */
#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COMMAND = 2048, OUTPUT = 1 << 16 };

static char folder[256], printed[OUTPUT];

static int make_folder(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "%s/compare_XXXXXX", TEST_BUILD_DIR);
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  char command[COMMAND];
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  return system(command);
}

/* Run it, keep what it prints, and hold its exit code: 0 where they agree, 1 where they part. */
__attribute__((format(printf, 2, 3))) static void compare(int expected, const char *format, ...) {
  char arguments[COMMAND], command[2 * COMMAND];
  va_list list;
  va_start(list, format);
  vsnprintf(arguments, sizeof arguments, format, list);
  va_end(list);
  snprintf(command, sizeof command, "cd '%s' && '%s/pe-run' compare %s 2>&1", folder, TEST_BUILD_DIR, arguments);
  FILE *stream = popen(command, "r");
  assert_non_null(stream);
  printed[fread(printed, 1, sizeof printed - 1, stream)] = '\0';
  int code = pclose(stream);
  if (code != expected << 8) {
    fail_msg("%s: exit status %d\n%s", command, code, printed);
  }
}

static void says(const char *text) {
  if (!strstr(printed, text)) {
    fail_msg("'%s' is not said:\n%s", text, printed);
  }
}

static void says_not(const char *text) {
  if (strstr(printed, text)) {
    fail_msg("'%s' is said:\n%s", text, printed);
  }
}

/* ---- tensors of other programs ---- */

/* A float32 dataset /NAME in NAME.h5. */
static void write_tensor(const char *name, int rank, const hsize_t *dim, const float *data) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s.h5", folder, name);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(rank, dim, NULL);
  hid_t set = H5Dcreate2(file, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  assert_true(H5Dclose(set) >= 0 && H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
}

static float as_bfloat16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
  memcpy(&value, &bits, sizeof value);
  return value;
}

enum { T = 64, PAIRS = 8 };

/* What a program of float32 does: frequency, angle and cosine in float32. offset: position of the first row; halves:
 * the table twice in a row, as in Hugging Face. */
static void write_cosines(const char *name, float base, int width, float offset, bool halves, bool bfloat16) {
  static float table[T * 2 * PAIRS];
  int columns = halves ? 2 * PAIRS : PAIRS;
  for (int r = 0; r < T; r++) {
    for (int c = 0; c < columns; c++) {
      float frequency = 1.0f / powf(base, 2.0f * (float)(c % PAIRS) / (float)width);
      float value = cosf(((float)r + offset) * frequency);
      table[r * columns + c] = bfloat16 ? as_bfloat16(value) : value;
    }
  }
  write_tensor(name, 2, (hsize_t[]){T, (hsize_t)columns}, table);
}

static void test_cosines(void **state) {
  (void)state;
  write_cosines("cos", 10000, 2 * PAIRS, 0, false, false);
  compare(0, "rope -- cos.h5:/cos");
  says("Equal up to rounding");
  compare(1, "rope base=5e5 -- cos.h5:/cos");
  says("position 1, column 1"); /* position 0 is 1 everywhere, and so is the first frequency */
  says("base=10000, its default");

  write_cosines("cos", 10000, 2 * PAIRS, 0, true, false);
  compare(0, "rope -- cos.h5:/cos");
  says("halves repeated");

  write_cosines("cos", 10000, 2 * PAIRS, 1, true, false);
  compare(1, "rope -- cos.h5:/cos");
  says("positions offset by 1");
  compare(0, "rope --positions 1:65 -- cos.h5:/cos");

  write_cosines("cos", 123456, 2 * PAIRS, 0, true, false);
  compare(1, "rope -- cos.h5:/cos");
  says("another base: 123456");
}

/* A table in bfloat16 is told from a fault, and a fault is found behind it. */
static void test_formats(void **state) {
  (void)state;
  write_cosines("cos", 10000, 2 * PAIRS, 0, true, true);
  compare(1, "rope -- cos.h5:/cos");
  says("table in bfloat16 (--round table=bfloat16)");
  says_not("table in float16");
  compare(0, "rope --round table=bfloat16 -- cos.h5:/cos");
  compare(1, "rope --round table=float16 -- cos.h5:/cos");
  write_cosines("cos", 10000, 2 * PAIRS, 1, true, true);
  compare(1, "rope --round table=bfloat16 -- cos.h5:/cos");
  says("positions offset by 1");
}

/* Frequencies over the head's width where only a part of it turns (pie-project/pie#602). */
static void test_head_width(void **state) {
  (void)state;
  write_cosines("cos", 10000, 4 * PAIRS, 0, false, false);
  compare(1, "rope rotary_dim=%d --head-dim %d -- cos.h5:/cos", 2 * PAIRS, 4 * PAIRS);
  says("frequencies by head_dim instead of the rotary width");
  write_cosines("cos", 10000, 2 * PAIRS, 0, false, false);
  compare(0, "rope rotary_dim=%d --head-dim %d -- cos.h5:/cos", 2 * PAIRS, 4 * PAIRS);
  compare(1, "rope --head-dim %d -- cos.h5:/cos what=sin", 2 * PAIRS);
}

/* A cache of cosines, then sines, as vLLM keeps it, and complex numbers, as Meta's Llama does. */
static void test_both(void **state) {
  (void)state;
  static float table[T * 2 * PAIRS];
  for (int complex = 0; complex < 2; complex++) {
    for (int r = 0; r < T; r++) {
      for (int i = 0; i < PAIRS; i++) {
        double angle = r * pow(10000, -2.0 * i / (2 * PAIRS));
        table[r * 2 * PAIRS + (complex ? 2 * i : i)] = (float)cos(angle);
        table[r * 2 * PAIRS + (complex ? 2 * i + 1 : i + PAIRS)] = (float)sin(angle);
      }
    }
    write_tensor("cos_sin", complex ? 3 : 2, complex ? (hsize_t[]){T, PAIRS, 2} : (hsize_t[]){T, 2 * PAIRS, 1}, table);
    compare(0, "rope -- cos_sin.h5:/cos_sin");
    says(complex ? "pairs of cosine and sine" : "cosines then sines");
    says("Identical");
  }
}

/* Queries that other people's code turned: rope.h5. */
static void test_rotated(void **state) {
  (void)state;
  const char *golden = TEST_GOLDEN_DIR "/rope.h5:";
  compare(0, "rope -- %s/half_hd8_rot8_base10000_off0/out_q in=%s/half_hd8_rot8_base10000_off0/in_q", golden, golden);
  compare(1, "rope -- %s/interleaved_hd8_rot8_base10000_off0/out_q in=%s/interleaved_hd8_rot8_base10000_off0/in_q",
          golden, golden);
  says("interleaved layout");
  says("head 0, position 1, channel 0");
  compare(1, "rope -- %s/half_hd8_rot8_base500000_off0/out_q in=%s/half_hd8_rot8_base500000_off0/in_q", golden, golden);
  says("another base: 500000");
  compare(0,
          "rope rotary_dim=4 --positions 1000:1016 -- %s/half_hd8_rot4_base10000_off1000/out_q "
          "in=%s/half_hd8_rot4_base10000_off1000/in_q",
          golden, golden);
  compare(1, "rope --positions 1:17 -- %s/half_hd8_rot8_base10000_off0/out_q in=%s/half_hd8_rot8_base10000_off0/in_q",
          golden, golden);
  says("positions offset by -1");
  compare(1,
          "rope base=10000 --positions 3:19 -- %s/half_hd8_rot8_base500000_off1000/out_q "
          "in=%s/half_hd8_rot8_base500000_off1000/in_q",
          golden, golden);
  says("nothing that was tried");
}

/* Scaled frequencies that were computed, and then the unscaled ones returned (huggingface/transformers#32330); a final
 * attention factor that was left out. */
static void test_scaling(void **state) {
  (void)state;
  static float table[64];
  for (int i = 0; i < 64; i++) {
    table[i] = 1.0f / powf(500000, (float)i / 64);
  }
  write_tensor("inv_freq", 1, (hsize_t[]){64}, table);
  compare(1, "rope base=5e5 scaling=llama3 factor=8 low_freq_factor=1 high_freq_factor=4 "
             "original_max_position_embeddings=8192 -- inv_freq.h5:/inv_freq");
  says("pair 29"); /* 0 to 28 are the same scaled and unscaled */
  says("frequencies without scaling");
  compare(0, "rope base=5e5 -- inv_freq.h5:/inv_freq");
  write_cosines("cos", 10000, 2 * PAIRS, 0, true, false);
  compare(1, "rope scaling=yarn factor=4 attention_factor=2 original_max_position_embeddings=4096000 -- cos.h5:/cos");
  says("attention factor left out");
}

/* ALiBi: slopes of one formula for a head count that is no power of two (ml-explore/mlx#3071); slopes in bfloat16
 * (Falcon); a bias of the key alone. T5: query and key swapped (dmlc/gluon-nlp#1470). */
static void test_biases(void **state) {
  (void)state;
  const char *golden = TEST_GOLDEN_DIR "/alibi.h5:";
  compare(0, "alibi -- %s/bias_symmetric_n6_T8/out_bias", golden);
  says("Identical");
  compare(1, "alibi -- %s/bias_causal_n6_T8/out_bias", golden);
  says("distance=causal");
  compare(1, "alibi slopes=geometric -- %s/bias_symmetric_n6_T8/out_bias", golden);
  says("slopes=authors");
  static float bias[12 * 8 * 8];
  for (int h = 0; h < 12; h++) {
    double slope = h < 8 ? pow(2, -(h + 1)) : pow(2, -0.5 * (2 * (h - 8) + 1));
    for (int i = 0; i < 8; i++) {
      for (int j = 0; j < 8; j++) {
        bias[(h * 8 + i) * 8 + j] = -as_bfloat16((float)slope) * (float)abs(i - j);
      }
    }
  }
  write_tensor("bias", 3, (hsize_t[]){12, 8, 8}, bias);
  compare(1, "alibi -- bias.h5:/bias");
  says("slopes in bfloat16");
  for (int i = 0; i < 64; i++) {
    bias[i] = 0.5f * (float)(i % 8);
  }
  write_tensor("bias", 2, (hsize_t[]){8, 8}, bias);
  compare(1, "alibi slopes=[0.5] distance=causal -- bias.h5:/bias");
  says("a constant added for each query");
  for (int i = 0; i < 64; i++) {
    int d = i / 8 - i % 8;
    bias[i] = (float)(d >= 0 ? d : 0);
  }
  write_tensor("bias", 2, (hsize_t[]){8, 8}, bias);
  compare(0, "t5 num_buckets=16 max_distance=64 direction=causal "
             "'table=[[0],[1],[2],[3],[4],[5],[6],[7],[8],[9],[10],[11],[12],[13],[14],[15]]' -- bias.h5:/bias");
  for (int i = 0; i < 64; i++) {
    int d = i % 8 - i / 8;
    bias[i] = (float)(d >= 0 ? d : 0);
  }
  write_tensor("bias", 2, (hsize_t[]){8, 8}, bias);
  compare(1, "t5 num_buckets=16 max_distance=64 direction=causal "
             "'table=[[0],[1],[2],[3],[4],[5],[6],[7],[8],[9],[10],[11],[12],[13],[14],[15]]' -- bias.h5:/bias");
  says("query and key swapped");
}

/* Sinusoids of both families and both orders: sinusoidal.h5. */
static void test_embeddings(void **state) {
  (void)state;
  const char *golden = TEST_GOLDEN_DIR "/sinusoidal.h5:";
  compare(0, "sinusoidal --positions %s/interleaved_d8/in_positions -- %s/interleaved_d8/out_table", golden, golden);
  compare(0, "sinusoidal --positions %s/interleaved_d8/in_positions -- %s/concat_vaswani_d8/out_table", golden, golden);
  says("Equal up to channel order");
  says("halves layout");
  compare(1, "sinusoidal layout=halves --positions %s/interleaved_d8/in_positions -- %s/concat_t2t_d8/out_table",
          golden, golden);
  says("frequencies=tensor2tensor");
  compare(1, "sinusoidal base=500 --positions %s/interleaved_d8/in_positions -- %s/interleaved_d8/out_table", golden,
          golden);
  says("another base: 10000");
}

/* Two variants. */
static void test_variants(void **state) {
  (void)state;
  compare(0, "rope -- rope");
  says("Identical");
  compare(0, "rope -- rope layout=interleaved");
  says("Equal up to channel order");
  compare(0, "rope rotary_dim=16 -- rope rotary_dim=16 layout=interleaved");
  says("Equal up to channel order");
  compare(0, "sinusoidal -- sinusoidal layout=halves");
  says("Equal up to channel order");
  compare(1, "sinusoidal -- sinusoidal frequencies=tensor2tensor");
  says("position 1, channel 2"); /* the first pair has frequency 1 in both */
  compare(1, "rope -- rope base=5e5");
  says("head 0, position 1, channel 1");
  compare(1, "rope --round table=bfloat16 -- rope");
  says("of the first, table is rounded to bfloat16");
  compare(0, "rope scaling=linear factor=1 -- rope");
  says("Identical");
  compare(0, "rope scaling=yarn factor=1 original_max_position_embeddings=4096 -- rope");
  says("Equal up to rounding"); /* a frequency is a last bit off in float64 */
  compare(1, "rope -- alibi");
  says("only the first acts here");
  /* The power kernel with exponent 1 is ALiBi (KERPLE's authors keep a at 0.01 or more). */
  compare(0, "kerple --heads 2 kernel=power distance=causal 'a=[0.25,0.0625]' 'p=[1,1]' -- alibi distance=causal "
             "'slopes=[0.25,0.0625]'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cosines), cmocka_unit_test(test_formats),    cmocka_unit_test(test_head_width),
      cmocka_unit_test(test_both),    cmocka_unit_test(test_rotated),    cmocka_unit_test(test_scaling),
      cmocka_unit_test(test_biases),  cmocka_unit_test(test_embeddings), cmocka_unit_test(test_variants)};
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
