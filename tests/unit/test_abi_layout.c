/* Sizes and offsets of the contract on 64-bit machines, counted by hand: plugins that exist already were built with
 * them. A line may be added for a member that was appended; none may change while the major version stays.
 */
#include <pe/plugin.h>

#include <assert.h>

#define SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type " has changed its size")
#define AT(type, member, bytes) static_assert(offsetof(type, member) == (bytes), #type "." #member " has moved")

#if UINTPTR_MAX == UINT64_MAX
SIZE(pe_error, 248);
AT(pe_error, struct_size, 0);
AT(pe_error, reserved, 4);
AT(pe_error, where, 8);
AT(pe_error, msg, 16);

SIZE(pe_value, 40);
AT(pe_value, i, 0);
AT(pe_value, r, 8);
AT(pe_value, list, 16);
AT(pe_value, n, 24);
AT(pe_value, given, 32);
AT(pe_value, reserved, 36);

SIZE(pe_param, 104);
AT(pe_param, key, 0);
AT(pe_param, doc, 8);
AT(pe_param, type, 16);
AT(pe_param, flags, 20);
AT(pe_param, min, 24);
AT(pe_param, max, 32);
AT(pe_param, dflt, 40);
AT(pe_param, choices, 80);
AT(pe_param, list_min, 88);
AT(pe_param, list_max, 96);

SIZE(pe_tensor, 40);
AT(pe_tensor, name, 0);
AT(pe_tensor, doc, 8);
AT(pe_tensor, init, 16);
AT(pe_tensor, flags, 20);
AT(pe_tensor, init_a, 24);
AT(pe_tensor, init_b, 32);

SIZE(pe_dims, 40);
AT(pe_dims, rank, 0);
AT(pe_dims, reserved, 4);
AT(pe_dims, dim, 8);

SIZE(pe_derived, 48);
AT(pe_derived, name, 0);
AT(pe_derived, doc, 8);
AT(pe_derived, rank, 16);
AT(pe_derived, reserved, 20);
AT(pe_derived, dim, 24);
AT(pe_derived, data, 40);

SIZE(pe_shape, 40);
AT(pe_shape, struct_size, 0);
AT(pe_shape, n_layers, 4);
AT(pe_shape, n_heads, 8);
AT(pe_shape, n_kv_heads, 12);
AT(pe_shape, d_model, 16);
AT(pe_shape, head_dim, 20);
AT(pe_shape, train_len, 24);
AT(pe_shape, given, 32);

SIZE(pe_domain, 48);
AT(pe_domain, struct_size, 0);
AT(pe_domain, integer_only, 4);
AT(pe_domain, pos_axes, 8);
AT(pe_domain, reserved, 12);
AT(pe_domain, min, 16);
AT(pe_domain, max, 24);
AT(pe_domain, max_distance, 32);
AT(pe_domain, trained_max, 40);

SIZE(pe_rows, 96);
AT(pe_rows, struct_size, 0);
AT(pe_rows, role, 4);
AT(pe_rows, layer, 8);
AT(pe_rows, head, 12);
AT(pe_rows, n_heads, 16);
AT(pe_rows, reserved, 20);
AT(pe_rows, seq_len, 24);
AT(pe_rows, n, 32);
AT(pe_rows, pos, 40);
AT(pe_rows, in, 48);
AT(pe_rows, in_stride, 56);
AT(pe_rows, in_head_stride, 64);
AT(pe_rows, out, 72);
AT(pe_rows, out_stride, 80);
AT(pe_rows, out_head_stride, 88);

SIZE(pe_tile, 104);
AT(pe_tile, struct_size, 0);
AT(pe_tile, layer, 4);
AT(pe_tile, head, 8);
AT(pe_tile, reserved, 12);
AT(pe_tile, seq_len, 16);
AT(pe_tile, nq, 24);
AT(pe_tile, nk, 32);
AT(pe_tile, pos_q, 40);
AT(pe_tile, pos_k, 48);
AT(pe_tile, q, 56);
AT(pe_tile, k, 64);
AT(pe_tile, q_stride, 72);
AT(pe_tile, k_stride, 80);
AT(pe_tile, s, 88);
AT(pe_tile, s_stride, 96);

SIZE(pe_host, 32);
AT(pe_host, struct_size, 0);
AT(pe_host, abi_major, 4);
AT(pe_host, abi_minor, 8);
AT(pe_host, reserved, 12);
AT(pe_host, ctx, 16);
AT(pe_host, log, 24);

SIZE(pe_scheme, 192);
AT(pe_scheme, struct_size, 0);
AT(pe_scheme, version, 4);
AT(pe_scheme, id, 8);
AT(pe_scheme, title, 16);
AT(pe_scheme, reference, 24);
AT(pe_scheme, sites, 32);
AT(pe_scheme, traits, 36);
AT(pe_scheme, params, 40);
AT(pe_scheme, n_params, 48);
AT(pe_scheme, param_stride, 52);
AT(pe_scheme, tensors, 56);
AT(pe_scheme, n_tensors, 64);
AT(pe_scheme, tensor_stride, 68);
AT(pe_scheme, create, 72);
AT(pe_scheme, destroy, 80);
AT(pe_scheme, domain, 88);
AT(pe_scheme, tensor_shape, 96);
AT(pe_scheme, tensor_bind, 104);
AT(pe_scheme, derived_count, 112);
AT(pe_scheme, derived, 120);
AT(pe_scheme, scratch_bytes, 128);
AT(pe_scheme, qk_width, 136);
AT(pe_scheme, score_scale, 144);
AT(pe_scheme, embed_add, 152);
AT(pe_scheme, qk_apply, 160);
AT(pe_scheme, bias_add, 168);
AT(pe_scheme, extension, 176);
AT(pe_scheme, instance_traits, 184);

SIZE(pe_entry, 48);
AT(pe_entry, magic, 0);
AT(pe_entry, struct_size, 4);
AT(pe_entry, abi_major, 8);
AT(pe_entry, abi_minor, 12);
AT(pe_entry, name, 16);
AT(pe_entry, version, 24);
AT(pe_entry, schemes, 32);
AT(pe_entry, n_schemes, 40);
AT(pe_entry, reserved, 44);

SIZE(pe_ext_vjp, 24);
AT(pe_ext_vjp, struct_size, 0);
AT(pe_ext_vjp, reserved, 4);
AT(pe_ext_vjp, rows_vjp, 8);
AT(pe_ext_vjp, bias_vjp, 16);

#endif

/* Numbers that stand in built plugins. */
static_assert(PE_ABI_MAGIC == 0x50452d31 && PE_ABI_MAJOR == 0, "another major version needs a look at this file");
static_assert(PE_OK == 0 && PE_ERR_ARGUMENT == 1 && PE_ERR_PARAM == 2 && PE_ERR_SHAPE == 3 && PE_ERR_POS_RANGE == 4 &&
                  PE_ERR_POS_KIND == 5 && PE_ERR_UNSUPPORTED == 6 && PE_ERR_MEMORY == 7 && PE_ERR_INTERNAL == 8,
              "status");
static_assert(PE_BOOL == 0 && PE_INT == 1 && PE_REAL == 2 && PE_CHOICE == 3 && PE_REAL_LIST == 4, "parameters");
static_assert(PE_PARAM_OPTIONAL == 1 && PE_PARAM_REQUIRED == 2 && PE_PARAM_OR_LIST == 4, "flags of a parameter");
static_assert(PE_INIT_ZERO == 0 && PE_INIT_CONSTANT == 1 && PE_INIT_NORMAL == 2 && PE_INIT_UNIFORM == 3, "tensors");
static_assert(PE_TENSOR_GIVEN == 1 && PE_TENSOR_PER_SQRT_DMODEL == 2, "flags of a tensor");
static_assert(PE_ROLE_EMBED == 0 && PE_ROLE_QUERY == 1 && PE_ROLE_KEY == 2, "roles");
static_assert(PE_SITE_EMBED == 1 && PE_SITE_QK == 2 && PE_SITE_BIAS == 4, "sites");
static_assert(PE_TRAIT_RELATIVE == 1 && PE_TRAIT_CONTENT == 2 && PE_TRAIT_CAUSAL_ONLY == 4 &&
                  PE_TRAIT_LENGTH_DEPENDENT == 8,
              "traits");

int main(void) {
  return 0;
}
