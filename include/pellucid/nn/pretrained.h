// Models with weights from a file.
#pragma once

#include <memory>

#include "pellucid/io.h"
#include "pellucid/nn/models.h"

namespace pel::io {

// A GGUF file of the architecture "llama". The weights are unpacked to `dtype`; gradients are off.
PEL_API std::unique_ptr<nn::Llama> load_llama(const GgufFile& file, DType dtype = kF32,
                                              Site site = Site::current());

// A BERT encoder under the names of Hugging Face. Sizes are those of the tensors; `heads` and the
// rest are those of `config`.
PEL_API std::unique_ptr<nn::Bert> load_bert(const SafetensorsFile& file, const nn::BertConfig& config = {},
                                            Site site = Site::current());

}  // namespace pel::io
