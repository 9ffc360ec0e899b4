#include <iostream>

#include <pellucid/pellucid.h>

int main() {
  using namespace pel;
  const Tensor x = rand({64, 64}).to(kQueue);
  const Tensor y = softmax(matmul(x, x), -1);       // queued
  std::cout << y.sum().item().to_double() << "\n";  // waits
}
