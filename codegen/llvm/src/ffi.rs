//! The few C functions that inkwell does not wrap; all `unsafe` of this crate.
#![allow(unsafe_code, reason = "LLVM's C API for diagnostics and fatal errors")]

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::io::Write;
use std::rc::Rc;
use std::sync::Once;

use inkwell::context::Context;
use inkwell::llvm_sys::LLVMDiagnosticSeverity;
use inkwell::llvm_sys::core::{
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription,
    LLVMGetDiagInfoSeverity,
};
use inkwell::llvm_sys::error_handling::LLVMInstallFatalErrorHandler;
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;
use inkwell::targets::{InitializationConfig, Target};

thread_local! {
    static LABEL: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `f`; if LLVM ends the process meanwhile, its message says that it was compiling `label`.
pub fn labelled<R>(label: &str, f: impl FnOnce() -> R) -> R {
    let before = LABEL.with(|l| std::mem::replace(&mut *l.borrow_mut(), label.to_owned()));
    let result = f();
    LABEL.with(|l| *l.borrow_mut() = before);
    result
}

/// Registers the back ends and the fatal-error handler, once a process.
pub(crate) fn initialise() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        Target::initialize_x86(&InitializationConfig::default());
        // SAFETY: `fatal` is a plain function that lives for the whole process.
        unsafe { LLVMInstallFatalErrorHandler(Some(fatal)) };
    });
}

/// LLVM does not let this function return: it names what was being compiled and aborts.
extern "C" fn fatal(reason: *const c_char) {
    // SAFETY: LLVM passes a NUL-terminated string that outlives the call.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy();
    let label = LABEL.try_with(|l| l.borrow().clone()).unwrap_or_default();
    let mut err = std::io::stderr().lock();
    // Nothing can be done about a closed stderr here.
    let _ = match label.as_str() {
        "" => writeln!(err, "error: LLVM gave up: {reason}"),
        label => writeln!(err, "error: LLVM gave up while compiling {label}: {reason}"),
    };
    std::process::abort();
}

/// Collects what LLVM reports about a context while it lives.
pub(crate) struct Diagnostics<'c> {
    context: &'c Context,
    errors: Rc<RefCell<Vec<String>>>,
}

impl<'c> Diagnostics<'c> {
    pub(crate) fn collect(context: &'c Context) -> Self {
        let errors: Rc<RefCell<Vec<String>>> = Rc::default();
        let data = Rc::as_ptr(&errors).cast_mut().cast::<c_void>();
        // SAFETY: the context is live; `data` stays valid until `drop` removes the handler.
        unsafe { LLVMContextSetDiagnosticHandler(context.raw(), Some(record), data) };
        Diagnostics { context, errors }
    }

    /// Errors so far, in order.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.errors.borrow().clone()
    }
}

impl Drop for Diagnostics<'_> {
    fn drop(&mut self) {
        // SAFETY: the context outlives `self`; a null handler is LLVM's default.
        unsafe {
            LLVMContextSetDiagnosticHandler(self.context.raw(), None, std::ptr::null_mut());
        }
    }
}

extern "C" fn record(info: LLVMDiagnosticInfoRef, data: *mut c_void) {
    // SAFETY: `data` is the cell given in `collect`, used by this thread alone; `info` is live for
    // the call and the description is ours to dispose.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) != LLVMDiagnosticSeverity::LLVMDSError {
            return;
        }
        let text = LLVMGetDiagInfoDescription(info);
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        let errors = &*data.cast::<RefCell<Vec<String>>>();
        errors.borrow_mut().push(message);
    }
}
