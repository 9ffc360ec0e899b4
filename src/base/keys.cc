// The state of dispatch keys. It is here, below dispatch, because the call stack of errors and logs reads it.
#include "pellucid/extend/keys.h"

namespace pel::detail {

constinit thread_local ThreadKeys thread_keys;
constinit std::atomic<std::uint16_t> process_keys{kNotWired};

}  // namespace pel::detail
