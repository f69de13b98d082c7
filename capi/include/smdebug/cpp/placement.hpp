// Which part of a tensor a worker holds, see smdebug/placement.h.
#ifndef SMDEBUG_CPP_PLACEMENT_HPP
#define SMDEBUG_CPP_PLACEMENT_HPP

#include <cstdint>
#include <vector>

#include "smdebug/cpp/error.hpp"
#include "smdebug/placement.h"

namespace smdebug {

struct Placement {
  std::vector<int64_t> shape;   // of the whole
  std::vector<int64_t> offset;  // a number a dimension; one if it is flat
  std::vector<int64_t> part;    // the part's shape; one number if it is flat
  bool is_flat = false;         // the part is a range of the elements in row-major order
  std::vector<int64_t> mesh;    // workers in each dimension of the mesh; may be empty
  std::vector<int64_t> split;   // for each, the dimension of the tensor that it splits, or -1

  // For the C interface; valid while this exists.  Throws INVALID_ARGUMENT if the lists do not
  // have the lengths above.
  smd_placement ToC() const {
    const size_t rank = is_flat ? 1 : shape.size();
    if (offset.size() != rank || part.size() != rank || mesh.size() != split.size()) {
      throw Error(SMD_INVALID_ARGUMENT, "the lists of the placement differ in length");
    }
    smd_placement out = SMD_PLACEMENT_INIT;
    out.shape = shape.data();
    out.offset = offset.data();
    out.part = part.data();
    out.ndim = static_cast<int32_t>(shape.size());
    out.is_flat = is_flat ? 1 : 0;
    out.mesh = mesh.data();
    out.split = split.data();
    out.mesh_ndim = static_cast<int32_t>(mesh.size());
    return out;
  }

  // Copies what the C interface returned.
  static Placement FromC(const smd_placement &from) {
    const int32_t rank = from.is_flat != 0 ? 1 : from.ndim;
    return {Copy(from.shape, from.ndim),     Copy(from.offset, rank),
            Copy(from.part, rank),           from.is_flat != 0,
            Copy(from.mesh, from.mesh_ndim), Copy(from.split, from.mesh_ndim)};
  }

 private:
  static std::vector<int64_t> Copy(const int64_t *numbers, int32_t count) {
    return numbers == nullptr ? std::vector<int64_t>()
                              : std::vector<int64_t>(numbers, numbers + count);
  }
};

}  // namespace smdebug

#endif  // SMDEBUG_CPP_PLACEMENT_HPP
