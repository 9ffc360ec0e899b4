// The collectives over memory: what kernels call. Operands may have any strides; outputs are row-major. In a
// group of one they copy.
#pragma once

#include <cstdint>

#include "pellucid/extend/kernel_args.h"

#include "distributed/group.h"

namespace pel::dist {

void all_reduce(Group::State& group, const Operand& dst, const Operand& src);
void all_gather(Group::State& group, const Operand& dst, const Operand& src);
void reduce_scatter(Group::State& group, const Operand& dst, const Operand& src);
void broadcast(Group::State& group, const Operand& dst, const Operand& src, int root);
void all_to_all(Group::State& group, const Operand& dst, const Operand& src);

void send(Group::State& group, const Operand& src, int to);
// `like` is copied in a group of one.
void recv(Group::State& group, const Operand& dst, const Operand& like, int from);

}  // namespace pel::dist
