// Copies and fills of the driver, which profilers name themselves: Memcpy HtoD (Pageable -> Device), Memset
// (Device).
#include "doctor/names/decoders.h"

namespace pel::doctor::names {

bool decode_driver(const NameText& name, KernelName& out) {
  const bool is_copy = name.text.starts_with("Memcpy") || name.text.starts_with("CopyHost") ||
                       name.text.starts_with("CopyDevice");
  if (!is_copy && !name.text.starts_with("Memset")) return false;
  out.family.say(is_copy ? KernelFamily::Copy : KernelFamily::Fill, name.text.substr(0, 6));
  out.library.say("driver");
  out.functor.say(is_copy ? "memcpy" : "memset", name.text.substr(0, 6));
  for (const std::string_view way : {"HtoD", "DtoH", "DtoD", "PtoP", "HtoH"}) {
    if (const std::string_view piece = found(name.text, way); !piece.empty()) {
      out.functor.say("memcpy " + std::string(way), piece);
      out.add("way").say(std::string(way), piece);
    }
  }
  if (const std::string_view piece = found(name.text, "Pageable"); !piece.empty())
    out.add("host memory").say("pageable: the copy does not overlap with the CPU", piece);
  if (const std::string_view piece = found(name.text, "Pinned"); !piece.empty())
    out.add("host memory").say("pinned", piece);
  return true;
}

}  // namespace pel::doctor::names
