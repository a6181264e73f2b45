//! From bytes to instructions: three-byte VEX prefix, opcode, ModRM, SIB, displacement.

/// What the library emits, with operands worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    Configure {
        from: usize,
    },
    Release,
    Zero {
        tile: usize,
    },
    Load {
        tile: usize,
        from: usize,
        stride: usize,
    },
    Store {
        tile: usize,
        to: usize,
        stride: usize,
    },
    Dot {
        sums: usize,
        left: usize,
        right: usize,
    },
}

/// Places of the general registers in the signal's context, in the order of their encoding.
const GENERAL: [libc::c_int; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

impl Instruction {
    /// The instruction whose first five bytes are given, and its length; longer ones are read on from `address`.
    pub unsafe fn decode(
        bytes: &[u8],
        address: usize,
        registers: &[i64; 23],
    ) -> Option<(Self, usize)> {
        let [0xc4, second, third, opcode, modrm] = *bytes else {
            return None;
        };
        // Inverted extensions of the registers, then map 0F38; then W0, vvvv inverted, 128 bits, and the prefix.
        let extension = |bit: u8| usize::from(second & bit == 0) * 8;
        let (reg_high, index_high, base_high) = (extension(0x80), extension(0x40), extension(0x20));
        let (vvvv, prefix) = (usize::from(!third >> 3 & 0xf), third & 3);
        if second & 0x1f != 2 || third & 0x84 != 0 || reg_high != 0 {
            return None;
        }
        let (mode, reg, rm) = (
            modrm >> 6,
            usize::from(modrm >> 3 & 7),
            usize::from(modrm & 7),
        );
        if mode == 3 {
            let instruction = match (opcode, prefix) {
                (0x49, 0) if modrm == 0xc0 && vvvv == 0 => Self::Release,
                (0x49, 3) if rm == 0 && vvvv == 0 => Self::Zero { tile: reg },
                (0x5c, 2) if vvvv < 8 && base_high == 0 => Self::Dot {
                    sums: reg,
                    left: rm,
                    right: vvvv,
                },
                _ => return None,
            };
            return Some((instruction, 5));
        }
        if vvvv != 0 {
            return None;
        }
        let value = |number: usize| registers[GENERAL[number] as usize] as usize;
        // SAFETY: the bytes belong to the instruction that has just trapped.
        let byte = |at: usize| unsafe { *((address + at) as *const u8) };
        let (has_sib, mut length) = (rm == 4, 5);
        let (base, stride) = if has_sib {
            let sib = byte(5);
            length += 1;
            let index = usize::from(sib >> 3 & 7) + index_high;
            // Register 4 as index means none.
            let scaled = match index {
                4 => 0,
                _ => value(index) << (sib >> 6),
            };
            (usize::from(sib & 7) + base_high, scaled)
        } else {
            (rm + base_high, 0)
        };
        let displacement = match mode {
            // Without displacement, register 5 would mean another form of address, which the library does not use.
            0 if base & 7 == 5 => return None,
            0 => 0,
            1 => {
                length += 1;
                byte(length - 1) as i8 as isize
            }
            _ => {
                length += 4;
                let bytes = [4, 3, 2, 1].map(|back| byte(length - back));
                i32::from_le_bytes(bytes) as isize
            }
        };
        let start = value(base).wrapping_add_signed(displacement);
        let instruction = match (opcode, prefix, has_sib) {
            (0x49, 0, _) if reg == 0 => Self::Configure {
                from: start + stride,
            },
            (0x4b, 3, true) => Self::Load {
                tile: reg,
                from: start,
                stride,
            },
            (0x4b, 2, true) => Self::Store {
                tile: reg,
                to: start,
                stride,
            },
            _ => return None,
        };
        Some((instruction, length))
    }
}
