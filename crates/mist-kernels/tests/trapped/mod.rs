//! AMX instructions for processors without them: the trap of an unknown instruction is caught, the instruction is decoded
//! from its bytes, done on tiles in memory, and skipped.
//!
//! Encodings and operations are Intel's (Software Developer's Manual, volume 2). Only what the library emits is known:
//! any other instruction gets the default treatment, which ends the process.

mod decode;
mod unit;

use std::cell::RefCell;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use decode::Instruction;
use unit::TileFile;

thread_local! {
    static TILES: RefCell<TileFile> = const { RefCell::new(TileFile::new()) };
}

/// Instructions done so far, by all threads.
pub static DONE: AtomicUsize = AtomicUsize::new(0);

/// Catches unknown instructions from now on.
pub fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the action is zeroed but for its handler, which has the signature that SA_SIGINFO asks for.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGILL, &action, std::ptr::null_mut())
        };
        assert_eq!(result, 0);
    });
}

/// The trap comes from the instruction itself, never amid other code, so that thread-local memory is safe to use.
extern "C" fn handle(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands over the context of the thread that trapped; its instruction pointer is readable code.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let rip = registers[libc::REG_RIP as usize];
        let bytes = std::slice::from_raw_parts(rip as *const u8, 5);
        match Instruction::decode(bytes, rip as usize, registers) {
            Some((instruction, length)) => {
                TILES.with_borrow_mut(|tiles| tiles.execute(instruction));
                DONE.fetch_add(1, Ordering::Relaxed);
                registers[libc::REG_RIP as usize] += length as i64;
            }
            None => {
                libc::signal(libc::SIGILL, libc::SIG_DFL);
            }
        }
    }
}
