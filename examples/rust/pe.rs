// The contract of <pe/plugin.h> in Rust, member by member. The header says what each of them means; the sizes below hold
// this file against it.
#![allow(dead_code, non_camel_case_types)]
use std::os::raw::{c_char, c_void};

pub const PE_ABI_MAGIC: u32 = 0x5045_2d31;
pub const PE_ABI_MAJOR: u32 = 0;
pub const PE_ABI_MINOR: u32 = 1;

pub type pe_status = i32;
pub const PE_OK: pe_status = 0;
pub const PE_ERR_ARGUMENT: pe_status = 1;
pub const PE_ERR_PARAM: pe_status = 2;
pub const PE_ERR_SHAPE: pe_status = 3;
pub const PE_ERR_POS_RANGE: pe_status = 4;
pub const PE_ERR_POS_KIND: pe_status = 5;
pub const PE_ERR_UNSUPPORTED: pe_status = 6;
pub const PE_ERR_MEMORY: pe_status = 7;
pub const PE_ERR_INTERNAL: pe_status = 8;

pub const PE_BOOL: i32 = 0;
pub const PE_INT: i32 = 1;
pub const PE_REAL: i32 = 2;
pub const PE_CHOICE: i32 = 3;
pub const PE_REAL_LIST: i32 = 4;

pub const PE_SITE_EMBED: u32 = 1;
pub const PE_SITE_QK: u32 = 2;
pub const PE_SITE_BIAS: u32 = 4;

pub const PE_TRAIT_RELATIVE: u32 = 1;
pub const PE_TRAIT_CONTENT: u32 = 2;
pub const PE_TRAIT_CAUSAL_ONLY: u32 = 4;
pub const PE_TRAIT_LENGTH_DEPENDENT: u32 = 8;

#[repr(C)]
pub struct pe_error {
    pub struct_size: u32,
    pub reserved: u32,
    pub where_: i64,
    pub msg: [u8; 232],
}

#[repr(C)]
pub struct pe_value {
    pub i: i64,
    pub r: f64,
    pub list: *const f64,
    pub n: usize,
    pub given: i32,
    pub reserved: i32,
}

#[repr(C)]
pub struct pe_param {
    pub key: *const c_char,
    pub doc: *const c_char,
    pub type_: i32,
    pub flags: u32,
    pub min: f64,
    pub max: f64,
    pub dflt: pe_value,
    pub choices: *const *const c_char,
    pub list_min: usize,
    pub list_max: usize,
}

#[repr(C)]
pub struct pe_tensor {
    pub name: *const c_char,
    pub doc: *const c_char,
    pub init: i32,
    pub flags: u32,
    pub init_a: f64,
    pub init_b: f64,
}

#[repr(C)]
pub struct pe_dims {
    pub rank: u32,
    pub reserved: u32,
    pub dim: [usize; 4],
}

#[repr(C)]
pub struct pe_derived {
    pub name: *const c_char,
    pub doc: *const c_char,
    pub rank: u32,
    pub reserved: u32,
    pub dim: [usize; 2],
    pub data: *const f64,
}

#[repr(C)]
pub struct pe_shape {
    pub struct_size: u32,
    pub n_layers: u32,
    pub n_heads: u32,
    pub n_kv_heads: u32,
    pub d_model: u32,
    pub head_dim: u32,
    pub train_len: f64,
    pub given: *const pe_dims,
}

#[repr(C)]
pub struct pe_domain {
    pub struct_size: u32,
    pub integer_only: u32,
    pub pos_axes: u32,
    pub reserved: u32,
    pub min: f64,
    pub max: f64,
    pub max_distance: f64,
    pub trained_max: f64,
}

#[repr(C)]
pub struct pe_rows {
    pub struct_size: u32,
    pub role: i32,
    pub layer: u32,
    pub head: u32,
    pub n_heads: u32,
    pub reserved: u32,
    pub seq_len: f64,
    pub n: usize,
    pub pos: *const f64,
    pub in_: *const f32,
    pub in_stride: usize,
    pub in_head_stride: usize,
    pub out: *mut f32,
    pub out_stride: usize,
    pub out_head_stride: usize,
}

#[repr(C)]
pub struct pe_tile {
    pub struct_size: u32,
    pub layer: u32,
    pub head: u32,
    pub reserved: u32,
    pub seq_len: f64,
    pub nq: usize,
    pub nk: usize,
    pub pos_q: *const f64,
    pub pos_k: *const f64,
    pub q: *const f32,
    pub k: *const f32,
    pub q_stride: usize,
    pub k_stride: usize,
    pub s: *mut f32,
    pub s_stride: usize,
}

#[repr(C)]
pub struct pe_host {
    pub struct_size: u32,
    pub abi_major: u32,
    pub abi_minor: u32,
    pub reserved: u32,
    pub ctx: *mut c_void,
    pub log: Option<unsafe extern "C" fn(*mut c_void, i32, *const c_char)>,
}

/// Defined by the plugin: a pointer to whatever `create` has boxed.
#[repr(C)]
pub struct pe_instance {
    _private: [u8; 0],
}

type create = unsafe extern "C" fn(
    *const pe_host, *const pe_shape, *const pe_value, *mut *mut pe_instance, *mut pe_error) -> pe_status;
type derived = unsafe extern "C" fn(
    *const pe_instance, f64, u32, *mut pe_derived, *mut f64, usize, *mut usize) -> pe_status;
type rows_call = unsafe extern "C" fn(*const pe_instance, *const pe_rows, *mut c_void, *mut pe_error) -> pe_status;
type tile_call = unsafe extern "C" fn(*const pe_instance, *const pe_tile, *mut c_void, *mut pe_error) -> pe_status;

#[repr(C)]
pub struct pe_scheme {
    pub struct_size: u32,
    pub version: u32,
    pub id: *const c_char,
    pub title: *const c_char,
    pub reference: *const c_char,
    pub sites: u32,
    pub traits: u32,
    pub params: *const pe_param,
    pub n_params: u32,
    pub param_stride: u32,
    pub tensors: *const pe_tensor,
    pub n_tensors: u32,
    pub tensor_stride: u32,
    pub create: Option<create>,
    pub destroy: Option<unsafe extern "C" fn(*mut pe_instance)>,
    pub domain: Option<unsafe extern "C" fn(*const pe_instance, *mut pe_domain) -> pe_status>,
    pub tensor_shape: Option<unsafe extern "C" fn(*const pe_instance, u32, *mut pe_dims) -> pe_status>,
    pub tensor_bind: Option<unsafe extern "C" fn(*mut pe_instance, *const *const f32) -> pe_status>,
    pub derived_count: Option<unsafe extern "C" fn(*const pe_instance, f64) -> u32>,
    pub derived: Option<derived>,
    pub scratch_bytes: Option<unsafe extern "C" fn(*const pe_instance, usize, usize) -> usize>,
    pub qk_width: Option<unsafe extern "C" fn(*const pe_instance) -> u32>,
    pub score_scale: Option<unsafe extern "C" fn(*const pe_instance, f64) -> f64>,
    pub embed_add: Option<rows_call>,
    pub qk_apply: Option<rows_call>,
    pub bias_add: Option<tile_call>,
    pub extension: Option<unsafe extern "C" fn(*const c_char) -> *const c_void>,
    pub instance_traits: Option<unsafe extern "C" fn(*const pe_instance) -> u32>,
}

#[repr(C)]
pub struct pe_entry {
    pub magic: u32,
    pub struct_size: u32,
    pub abi_major: u32,
    pub abi_minor: u32,
    pub name: *const c_char,
    pub version: *const c_char,
    pub schemes: *const SchemeList,
    pub n_schemes: u32,
    pub reserved: u32,
}

/// An array of pointers to schemes, as long as n_schemes says.
#[repr(transparent)]
pub struct SchemeList(pub [*const pe_scheme; 1]);

// Constant tables with pointers into constant memory: any thread may read them.
unsafe impl Sync for pe_param {}
unsafe impl Sync for pe_scheme {}
unsafe impl Sync for SchemeList {}
unsafe impl Sync for pe_entry {}

#[cfg(target_pointer_width = "64")]
const _: () = {
    use std::mem::size_of;
    assert!(size_of::<pe_error>() == 248 && size_of::<pe_value>() == 40 && size_of::<pe_param>() == 104);
    assert!(size_of::<pe_tensor>() == 40 && size_of::<pe_dims>() == 40 && size_of::<pe_derived>() == 48);
    assert!(size_of::<pe_shape>() == 40 && size_of::<pe_domain>() == 48 && size_of::<pe_rows>() == 96);
    assert!(size_of::<pe_tile>() == 104 && size_of::<pe_host>() == 32);
    assert!(size_of::<pe_scheme>() == 192 && size_of::<pe_entry>() == 48);
};

pub const NO_VALUE: pe_value = pe_value { i: 0, r: 0.0, list: std::ptr::null(), n: 0, given: 0, reserved: 0 };

/// A scheme with nothing in it yet, for `..NO_SCHEME`.
pub const NO_SCHEME: pe_scheme = pe_scheme {
    struct_size: std::mem::size_of::<pe_scheme>() as u32,
    version: 1,
    id: std::ptr::null(),
    title: std::ptr::null(),
    reference: std::ptr::null(),
    sites: 0,
    traits: 0,
    params: std::ptr::null(),
    n_params: 0,
    param_stride: std::mem::size_of::<pe_param>() as u32,
    tensors: std::ptr::null(),
    n_tensors: 0,
    tensor_stride: std::mem::size_of::<pe_tensor>() as u32,
    create: None,
    destroy: None,
    domain: None,
    tensor_shape: None,
    tensor_bind: None,
    derived_count: None,
    derived: None,
    scratch_bytes: None,
    qk_width: None,
    score_scale: None,
    embed_add: None,
    qk_apply: None,
    bias_add: None,
    extension: None,
    instance_traits: None,
};

/// Fill the caller's error, where there is one, and hand the status back.
///
/// # Safety
/// `error` is null or points to a pe_error.
pub unsafe fn fail(error: *mut pe_error, status: pe_status, row: i64, sentence: &str) -> pe_status {
    if let Some(error) = error.as_mut() {
        let length = sentence.len().min(error.msg.len() - 1);
        error.where_ = row;
        error.msg[..length].copy_from_slice(&sentence.as_bytes()[..length]);
        error.msg[length] = 0;
    }
    status
}
