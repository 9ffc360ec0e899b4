// PEL_TEST_UNDER_TSAN is defined if ThreadSanitizer watches: it ends a forked child that makes threads.
#pragma once

#if defined(__SANITIZE_THREAD__)  // g++
#define PEL_TEST_UNDER_TSAN 1
#elif defined(__has_feature)  // clang++
#if __has_feature(thread_sanitizer)
#define PEL_TEST_UNDER_TSAN 1
#endif
#endif
