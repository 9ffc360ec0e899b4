; The functions that ISA-L's inflate calls, each chosen by the processor at its first call. ISA-L's own file of this kind also
; names the functions of compression, which the doctor does not link.
default rel
[bits 64]
%include "reg_sizes.asm"
extern crc32_gzip_refl_by8
extern crc32_gzip_refl_by8_02
extern crc32_gzip_refl_base
extern decode_huffman_code_block_stateless_01
extern decode_huffman_code_block_stateless_04
extern decode_huffman_code_block_stateless_base
section .text
%include "multibinary.asm"

; Arguments of mbin_dispatch_init5: the function, then its versions for any processor, SSE, AVX and AVX2.
mbin_interface crc32_gzip_refl
mbin_dispatch_init5 crc32_gzip_refl, crc32_gzip_refl_base, crc32_gzip_refl_by8, crc32_gzip_refl_by8_02, crc32_gzip_refl_by8_02
mbin_interface decode_huffman_code_block_stateless
mbin_dispatch_init5 decode_huffman_code_block_stateless, decode_huffman_code_block_stateless_base, decode_huffman_code_block_stateless_01, decode_huffman_code_block_stateless_01, decode_huffman_code_block_stateless_04
