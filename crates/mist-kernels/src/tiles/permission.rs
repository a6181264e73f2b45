//! Whether this process may use tiles.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::sync::OnceLock;

const AMX_BF16: u32 = 1 << 22;
const AMX_TILE: u32 = 1 << 24;
const OSXSAVE: u32 = 1 << 27;
/// Tile configuration and tile data in XCR0.
const TILE_STATE: u32 = 0b11 << 17;

const ARCH_PRCTL: usize = 158;
const ARCH_REQ_XCOMP_PERM: usize = 0x1023;
const TILE_DATA: usize = 18;

/// Asks the processor, then Linux, once per process: tiles enlarge every thread's saved state, so that Linux wants to be
/// asked before their first use.
pub(super) fn is_granted() -> bool {
    static GRANTED: OnceLock<bool> = OnceLock::new();
    *GRANTED.get_or_init(|| processor_has_tiles() && system_saves_tiles() && request())
}

fn processor_has_tiles() -> bool {
    let features = __cpuid_count(7, 0).edx;
    __cpuid(0).eax >= 7 && features & AMX_TILE != 0 && features & AMX_BF16 != 0
}

fn system_saves_tiles() -> bool {
    if __cpuid(1).ecx & OSXSAVE == 0 {
        return false;
    }
    let low: u32;
    // SAFETY: OSXSAVE is set, so XGETBV exists; register 0 is there with it, and nothing but eax and edx is written.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") _, options(nomem, nostack, preserves_flags));
    }
    low & TILE_STATE == TILE_STATE
}

fn request() -> bool {
    let result: isize;
    // SAFETY: `arch_prctl` with this code takes a number and touches no memory of ours; the registers that the kernel
    // overwrites, rax, rcx and r11, are declared.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL as isize => result,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") TILE_DATA,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result == 0
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_answer_agrees_with_linux() {
        let Ok(processors) = std::fs::read_to_string("/proc/cpuinfo") else {
            return;
        };
        if !processors.contains("amx_bf16") {
            assert!(!super::is_granted());
        }
    }
}
