// soft_window: distances up to a window cost nothing, each further one costs `slope`.
//
//     s[query][key] -= slope * max(0, |m - n| - window)
mod pe;
use pe::*;
use std::os::raw::{c_char, c_void};

const POSITION_LIMIT: f64 = 9007199254740992.0; // 2^53: beyond it doubles no longer hold every whole number

struct SoftWindow {
    window: f64,
    slope: f64,
}

const fn text(bytes: &'static [u8]) -> *const c_char {
    bytes.as_ptr() as *const c_char
}

const fn real(key: &'static [u8], doc: &'static [u8], max: f64, default: f64) -> pe_param {
    pe_param {
        key: text(key),
        doc: text(doc),
        type_: PE_REAL,
        flags: 0,
        min: 0.0,
        max,
        dflt: pe_value { r: default, ..NO_VALUE },
        choices: std::ptr::null(),
        list_min: 0,
        list_max: 0,
    }
}

static PARAMS: [pe_param; 2] = [
    real(b"window\0", b"distances up to it cost nothing\0", 1e9, 64.0),
    real(b"slope\0", b"what each further one costs\0", 1e6, 0.125),
];

unsafe extern "C" fn create(
    _host: *const pe_host, _shape: *const pe_shape, values: *const pe_value, out: *mut *mut pe_instance,
    _error: *mut pe_error,
) -> pe_status {
    let scheme = SoftWindow { window: (*values).r, slope: (*values.add(1)).r };
    *out = Box::into_raw(Box::new(scheme)) as *mut pe_instance;
    PE_OK
}

unsafe extern "C" fn destroy(instance: *mut pe_instance) {
    if !instance.is_null() {
        drop(Box::from_raw(instance as *mut SoftWindow));
    }
}

unsafe extern "C" fn domain(_instance: *const pe_instance, out: *mut pe_domain) -> pe_status {
    (*out).min = -POSITION_LIMIT;
    (*out).max = POSITION_LIMIT;
    PE_OK
}

unsafe extern "C" fn bias_add(
    instance: *const pe_instance, tile: *const pe_tile, _scratch: *mut c_void, error: *mut pe_error,
) -> pe_status {
    let (scheme, tile) = (&*(instance as *const SoftWindow), &*tile);
    if tile.nq == 0 || tile.nk == 0 {
        return PE_OK;
    }
    let queries = std::slice::from_raw_parts(tile.pos_q, tile.nq);
    let keys = std::slice::from_raw_parts(tile.pos_k, tile.nk);
    // Everything is checked before anything is written; the comparison refuses NaN, too.
    for positions in [queries, keys] {
        if let Some(row) = positions.iter().position(|p| !(p.abs() <= POSITION_LIMIT)) {
            return fail(error, PE_ERR_POS_RANGE, row as i64, "a position is not within -2^53 to 2^53");
        }
    }
    for (row, query) in queries.iter().enumerate() {
        let scores = std::slice::from_raw_parts_mut(tile.s.add(row * tile.s_stride), tile.nk);
        for (score, key) in scores.iter_mut().zip(keys) {
            let beyond = (query - key).abs() - scheme.window;
            *score += (-scheme.slope * beyond.max(0.0)) as f32;
        }
    }
    PE_OK
}

static SCHEME: pe_scheme = pe_scheme {
    id: text(b"soft_window\0"),
    title: text(b"a window of distances that cost nothing\0"),
    reference: text(b"an example\0"),
    sites: PE_SITE_BIAS,
    traits: PE_TRAIT_RELATIVE,
    params: PARAMS.as_ptr(),
    n_params: PARAMS.len() as u32,
    create: Some(create),
    destroy: Some(destroy),
    domain: Some(domain),
    bias_add: Some(bias_add),
    ..NO_SCHEME
};

static SCHEMES: SchemeList = SchemeList([&SCHEME]);

#[no_mangle]
pub static pe_plugin_entry: pe_entry = pe_entry {
    magic: PE_ABI_MAGIC,
    struct_size: std::mem::size_of::<pe_entry>() as u32,
    abi_major: PE_ABI_MAJOR,
    abi_minor: PE_ABI_MINOR,
    name: text(b"soft_window\0"),
    version: text(b"0.1\0"),
    schemes: &SCHEMES,
    n_schemes: 1,
    reserved: 0,
};
