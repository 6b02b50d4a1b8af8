//! The C interface of Extism, as `extism.h` declares it.
#![expect(unsafe_code, reason = "Extism has a C interface")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr;
use std::slice;
use std::sync::Arc;

type New = unsafe extern "C" fn(
    wasm: *const u8,
    size: u64,
    functions: *const *const c_void,
    functions_len: u64,
    with_wasi: bool,
    error: *mut *mut c_char,
) -> *mut c_void;
type FromCompiled =
    unsafe extern "C" fn(compiled: *const c_void, error: *mut *mut c_char) -> *mut c_void;
type Call =
    unsafe extern "C" fn(*mut c_void, name: *const c_char, data: *const u8, size: u64) -> i32;
type Free = unsafe extern "C" fn(*mut c_void);
type Length = unsafe extern "C" fn(*mut c_void) -> u64;
type Data = unsafe extern "C" fn(*mut c_void) -> *const u8;
type ErrorOf = unsafe extern "C" fn(*mut c_void) -> *const c_char;

/// The functions of Extism's shared library.
pub(super) struct Library {
    new: New,
    from_compiled: FromCompiled,
    call: Call,
    output_length: Length,
    output_data: Data,
    error: ErrorOf,
    free: Free,
    free_compiled: Free,
    /// Holds the code of all functions.
    _loaded: libloading::Library,
}

impl Library {
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let text = |error: libloading::Error| error.to_string();
        // SAFETY: the library is Extism's, at the version that requirements.txt pins; its initialisers
        // have no conditions. The types are those that its header declares for these names.
        unsafe {
            let loaded = libloading::Library::new(path).map_err(text)?;
            Ok(Self {
                new: *loaded.get(c"extism_compiled_plugin_new").map_err(text)?,
                from_compiled: *loaded
                    .get(c"extism_plugin_new_from_compiled")
                    .map_err(text)?,
                call: *loaded.get(c"extism_plugin_call").map_err(text)?,
                output_length: *loaded.get(c"extism_plugin_output_length").map_err(text)?,
                output_data: *loaded.get(c"extism_plugin_output_data").map_err(text)?,
                error: *loaded.get(c"extism_plugin_error").map_err(text)?,
                free: *loaded.get(c"extism_plugin_free").map_err(text)?,
                free_compiled: *loaded.get(c"extism_compiled_plugin_free").map_err(text)?,
                _loaded: loaded,
            })
        }
    }
}

/// A compiled plug-in.
pub(super) struct Compiled {
    library: Arc<Library>,
    pointer: *mut c_void,
}

// SAFETY: it holds a compiled module and its settings, which Extism does not change after it made them;
// `extism_plugin_new_from_compiled` takes it by shared reference.
unsafe impl Send for Compiled {}
// SAFETY: as above.
unsafe impl Sync for Compiled {}

impl Compiled {
    /// Compiles the module that a manifest names, with WASI.
    pub(super) fn new(library: Library, manifest: &str) -> Result<Self, String> {
        let mut error = ptr::null_mut();
        let (bytes, size) = (manifest.as_ptr(), manifest.len() as u64);
        // SAFETY: `bytes` holds `size` bytes, there are no functions, and `error` can be written.
        let pointer = unsafe { (library.new)(bytes, size, ptr::null(), 0, true, &raw mut error) };
        if pointer.is_null() {
            return Err(message(error));
        }
        Ok(Self {
            library: Arc::new(library),
            pointer,
        })
    }

    /// Returns an instance that no call has touched.
    pub(super) fn plugin(&self) -> Plugin {
        let mut error = ptr::null_mut();
        // SAFETY: the compiled plug-in lives as long as `self`, and `error` can be written.
        let pointer = unsafe { (self.library.from_compiled)(self.pointer, &raw mut error) };
        assert!(!pointer.is_null(), "{}", message(error));
        Plugin {
            library: Arc::clone(&self.library),
            pointer,
        }
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        // SAFETY: nothing uses the pointer afterwards.
        unsafe { (self.library.free_compiled)(self.pointer) }
    }
}

/// An instance of a plug-in.
pub(super) struct Plugin {
    library: Arc<Library>,
    pointer: *mut c_void,
}

// SAFETY: Extism's `Plugin` is `Send`. It is called through `&mut self` alone.
unsafe impl Send for Plugin {}

impl Plugin {
    pub(super) fn call(&mut self, function: &str, input: &[u8]) -> Vec<u8> {
        let (library, plugin) = (&self.library, self.pointer);
        let name = CString::new(function).unwrap();
        // SAFETY: the plug-in lives, the name ends with 0, and `input` holds that many bytes. The output
        // is valid until the next call, and copied before.
        unsafe {
            let (bytes, size) = (input.as_ptr(), input.len() as u64);
            let code = (library.call)(plugin, name.as_ptr(), bytes, size);
            assert_eq!(code, 0, "{}", message((library.error)(plugin)));
            let length = (library.output_length)(plugin);
            let data = (library.output_data)(plugin);
            slice::from_raw_parts(data, usize::try_from(length).unwrap()).to_vec()
        }
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        // SAFETY: nothing uses the pointer afterwards.
        unsafe { (self.library.free)(self.pointer) }
    }
}

fn message(error: *const c_char) -> String {
    if error.is_null() {
        return "Extism gives no reason".to_owned();
    }
    // SAFETY: Extism's messages end with 0, and live until the next call.
    unsafe { CStr::from_ptr(error) }
        .to_string_lossy()
        .into_owned()
}
