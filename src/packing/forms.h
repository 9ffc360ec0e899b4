// All packed forms that live, by the address of their matrix.
#pragma once

#include "packing/packing.h"

namespace pel {

MatrixView view_of(const Tensor& matrix);

// Packs a matrix. The form is found while anyone holds it, unless it is forgotten. Without a source, it must
// be forgotten before the memory of the matrix is freed.
std::shared_ptr<const PackedForm> make_form(const MatrixView& view, DType dtype, DeviceType device,
                                            const detail::StorageHeader* storage, Tensor source = {});
void forget_form(const PackedForm& form) noexcept;
// Whether forms of matrices in this memory are found.
bool has_forms(const detail::StorageHeader* storage) noexcept;

}  // namespace pel
