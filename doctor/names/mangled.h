// Mangled names (_ZN2at6native...) as text with brackets, as far as a decoder needs them.
#pragma once

#include <string>
#include <string_view>

namespace pel::doctor::names {

// at::native::f<float, 4> of _ZN2at6native1fIfLi4EEEvv. Parameters are left out, and what refers back to an
// earlier part is "_": so the text is at most a few times as long as the name, whereas a full demangler's can
// be exponentially longer. Of what is not understood only the identifiers are kept.
std::string readable_mangled(std::string_view mangled);

}  // namespace pel::doctor::names
