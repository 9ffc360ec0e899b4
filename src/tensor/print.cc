// Tensors as text: aligned columns, the ends of long axes only, dtype and sizes last.
#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>

#include <fmt/format.h>

#include "pellucid/tensor.h"

#include "tensor/element.h"
#include "tensor/make.h"
#include "tensor/read_back.h"

namespace pel {
namespace {

// How the numbers of one tensor are written: chosen over all that are shown, so that columns align.
class NumberFormat {
 public:
  NumberFormat(const std::vector<Scalar>& shown, int precision) : precision_(precision) {
    double largest = 0, smallest = INFINITY;
    for (const Scalar& s : shown) {
      const double v = std::fabs(s.to_double());
      if (!s.is_float() || !std::isfinite(v)) continue;
      whole_ = whole_ && v == std::floor(v);
      largest = std::max(largest, v);
      if (v != 0) smallest = std::min(smallest, v);
    }
    // A fixed point would hide small numbers next to large ones.
    scientific_ = largest >= 1e8 ||
                  (!whole_ && std::isfinite(smallest) && (largest / smallest > 1e3 || smallest < 1e-4));
    for (const Scalar& s : shown) width_ = std::max(width_, text(s).size());
  }
  std::string padded(const Scalar& s) const { return fmt::format("{:>{}}", text(s), width_); }
  std::size_t width() const { return width_; }

 private:
  std::string text(const Scalar& s) const {
    if (!s.is_float()) return to_string(s);
    const double v = s.to_double();
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    if (scientific_) return fmt::format("{:.{}e}", v, precision_);
    return whole_ ? fmt::format("{:.0f}.", v) : fmt::format("{:.{}f}", v, precision_);
  }
  int precision_;
  bool whole_ = true, scientific_ = false;
  std::size_t width_ = 1;
};

class Printer {
 public:
  Printer(const Tensor& tensor, const PrintOptions& options)
      : tensor_(tensor),
        options_(options),
        base_(static_cast<const std::byte*>(tensor.raw_data())),
        summarise_(tensor.numel().value() > options.threshold),
        edge_items_(edge_items()),
        format_(collect(), options.precision) {}

  std::string text() const { return block(0, 0); }

 private:
  std::int64_t size(std::size_t axis) const { return tensor_.sizes()[axis].value(); }
  bool cuts(std::size_t axis) const { return summarise_ && size(axis) > 2 * edge_items_; }

  // Fewer at each end where there are so many axes that the corners alone would fill pages.
  std::int64_t edge_items() const {
    std::int64_t items = std::max<std::int64_t>(options_.edge_items, 0);
    const auto shown = [&] {
      double count = 1;
      for (Dim n : tensor_.sizes()) count *= static_cast<double>(std::min(n.value(), 2 * items));
      return count;
    };
    while (items > 1 && shown() > static_cast<double>(options_.threshold)) --items;
    return items;
  }

  // Calls visit(i) for each index shown along `axis`, and gap() where some are left out.
  void along(std::size_t axis, const std::function<void(std::int64_t)>& visit,
             const std::function<void()>& gap) const {
    const std::int64_t n = size(axis);
    const std::int64_t left = cuts(axis) ? edge_items_ : n;
    for (std::int64_t i = 0; i < left; ++i) visit(i);
    if (left == n) return;
    gap();
    for (std::int64_t i = n - edge_items_; i < n; ++i) visit(i);
  }

  std::vector<Scalar> collect() const {
    std::vector<Scalar> shown;
    const std::function<void(std::size_t, std::int64_t)> walk = [&](std::size_t axis, std::int64_t offset) {
      if (axis == tensor_.sizes().size()) {
        shown.push_back(element(offset));
        return;
      }
      along(
          axis, [&](std::int64_t i) { walk(axis + 1, offset + i * tensor_.strides()[axis].value()); }, [] {});
    };
    walk(0, 0);
    return shown;
  }

  Scalar element(std::int64_t offset) const {
    return load_element(tensor_.dtype(), base_ + offset * size_bytes(tensor_.dtype()));
  }

  std::string block(std::size_t axis, std::int64_t offset) const {
    if (axis == tensor_.sizes().size()) return format_.padded(element(offset));
    const std::string indent(axis + 8, ' ');  // "tensor([" stands before the first line
    const bool innermost = axis + 1 == tensor_.sizes().size();
    const std::size_t columns =
        std::max<std::size_t>(static_cast<std::size_t>(options_.line_width), indent.size() + 1) -
        indent.size();
    const std::size_t per_line = std::max<std::size_t>(1, columns / (format_.width() + 2));
    std::string out = "[";
    std::size_t in_line = 0;
    const auto separate = [&] {
      if (out.size() == 1) return;
      if (!innermost) {
        out += "," + std::string(tensor_.sizes().size() - axis - 1, '\n') + indent;
      } else if (in_line == per_line) {
        out += ",\n" + indent;
        in_line = 0;
      } else {
        out += ", ";
      }
    };
    along(
        axis,
        [&](std::int64_t i) {
          separate();
          ++in_line;
          out += block(axis + 1, offset + i * tensor_.strides()[axis].value());
        },
        [&] {
          separate();
          ++in_line;
          out += "...";
        });
    return out + "]";
  }

  const Tensor& tensor_;
  const PrintOptions& options_;
  const std::byte* base_;
  bool summarise_;
  std::int64_t edge_items_;
  NumberFormat format_;
};

}  // namespace

std::string to_string(const Tensor& tensor, const PrintOptions& options) {
  if (!tensor.defined()) return "tensor(undefined)";
  if (!tensor.has_data()) return fmt::format("tensor(no data, {})", describe(tensor));
  const Tensor on_host = read_back(tensor, "to print a tensor");
  return fmt::format("tensor({}, {})", Printer(on_host, options).text(), describe(tensor));
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << to_string(tensor); }

}  // namespace pel
