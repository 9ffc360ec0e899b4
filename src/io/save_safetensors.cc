#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "pellucid/io.h"

#include "base/check.h"
#include "io/file_replacement.h"
#include "io/file_tensor.h"
#include "io/json.h"
#include "io/safetensors_format.h"

namespace pel::io {
namespace {

std::string_view name_in_file(DType dtype) {
  for (const SafetensorsDType& each : kSafetensorsDTypes) {
    if (each.ours == dtype) return each.name;
  }
  PEL_ASSERT(false, "every dtype of the library has a name in the format");
}

std::uint64_t bytes_of(const Tensor& tensor) {
  return static_cast<std::uint64_t>((tensor.numel() * size_bytes(tensor.dtype())).value());
}

std::string json_string(std::string_view text) {
  PEL_CHECK(simdjson::validate_utf8(text), ValueError, "{} is not UTF-8", in_quotes(text));
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json.append(1, '\\').append(1, c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      json += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      json += c;
    }
  }
  return json + '"';
}

// Orders wider dtypes first, so that each tensor is aligned for its own; then by name.
std::vector<NamedTensor> in_order(ArrayView<NamedTensor> tensors) {
  for (const NamedTensor& each : tensors) {
    PEL_CHECK(each.path != "__metadata__", ValueError,
              "a tensor must not be named __metadata__: the format reserves that name");
    PEL_CHECK(each.tensor.defined() && each.tensor.has_data(), ValueError, "tensor {} has no data",
              in_quotes(each.path));
  }
  std::vector<NamedTensor> order = tensors.vec();
  std::sort(order.begin(), order.end(),
            [](const NamedTensor& a, const NamedTensor& b) { return a.path < b.path; });
  for (std::size_t i = 1; i < order.size(); ++i)
    PEL_CHECK(order[i - 1].path != order[i].path, ValueError, "two tensors have the name {}",
              in_quotes(order[i].path));
  std::sort(order.begin(), order.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return std::pair(-size_bytes(a.tensor.dtype()), std::string_view(a.path)) <
           std::pair(-size_bytes(b.tensor.dtype()), std::string_view(b.path));
  });
  return order;
}

// Returns the header with its length in front, padded so that the data begin at a multiple of 8.
std::string header_of(const std::vector<NamedTensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  std::string json = "{";
  const auto next = [&] { json += json.ends_with('{') ? "" : ","; };
  if (!metadata.empty()) {
    json += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) next(), json += json_string(key) + ":" + json_string(value);
    json += "}";
  }
  std::uint64_t begin = 0;
  for (const auto& [path, tensor] : tensors) {
    next();
    std::string shape;
    for (const Dim size : tensor.sizes()) shape += (shape.empty() ? "" : ",") + std::to_string(size.value());
    const std::uint64_t end = begin + bytes_of(tensor);
    json += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", json_string(path),
                        name_in_file(tensor.dtype()), shape, begin, end);
    begin = end;
  }
  json += "}";
  json.append((8 - json.size() % 8) % 8, ' ');
  PEL_CHECK(json.size() <= kMaxHeaderBytes, ValueError, "the header takes {} bytes, but the format allows {}",
            json.size(), kMaxHeaderBytes);
  const std::uint64_t length = json.size();
  std::string header(8, '\0');
  std::memcpy(header.data(), &length, 8);  // both are little endian
  return header + json;
}

}  // namespace

void save_safetensors(const std::string& path, ArrayView<NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata, Site site) {
  as_call("save_safetensors", site, [&] {
    const std::vector<NamedTensor> order = in_order(tensors);
    const std::string header = header_of(order, metadata);
    FileReplacement file(path);
    file.write(header.data(), header.size());
    for (const NamedTensor& each : order) {
      const Tensor dense = each.tensor.detach().contiguous();
      file.write(dense.to(kCpu).raw_data(), bytes_of(dense));
    }
    file.take_its_place();
  });
}

void save_safetensors_index(const std::string& path, const std::vector<std::string>& files, Site site) {
  as_call("save_safetensors_index", site, [&] {
    PEL_CHECK(path.ends_with(kIndexEnd), ValueError, "an index has a name that ends with {}, not {}",
              kIndexEnd, path);
    std::map<std::string, std::string> file_of;
    std::uint64_t total_bytes = 0;
    for (const std::string& file : files) {
      PEL_CHECK(std::filesystem::path(file).filename() == file, ValueError,
                "{} must be the name of a file in the folder of the index, without a path", in_quotes(file));
      const SafetensorsFile part((std::filesystem::path(path).parent_path() / file).string());
      for (const NamedTensor& each : part.all()) {
        const auto [other, is_new] = file_of.emplace(each.path, file);
        PEL_CHECK(is_new, ValueError, "{} and {} both have a tensor {}", other->second, file,
                  in_quotes(each.path));
        total_bytes += bytes_of(each.tensor);
      }
    }
    std::string json = fmt::format("{{\"metadata\":{{\"total_size\":{}}},\"weight_map\":{{", total_bytes);
    std::string_view separator;
    for (const auto& [tensor, file] : file_of) {
      json += fmt::format("{}\n{}:{}", std::exchange(separator, ","), json_string(tensor), json_string(file));
    }
    json += "\n}}\n";
    FileReplacement replacement(path);
    replacement.write(json.data(), json.size());
    replacement.take_its_place();
  });
}

}  // namespace pel::io
