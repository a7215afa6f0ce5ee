// A value, or everything that was wrong with the user's input. The names follow std::expected, which GCC 12 lacks.
//
// A Result carries warnings beside a value too: `diagnostics()` may be non-empty when `has_value()` is true.
// Errors of our own making are not Results: see contract.hpp.
#pragma once

#include <optional>
#include <utility>

#include "base/contract.hpp"
#include "base/diagnostic.hpp"

namespace takt {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit, as std::expected
  Result(T value, Diagnostics warnings) : value_(std::move(value)), diagnostics_(std::move(warnings)) {}
  Result(Diagnostics errors) : diagnostics_(std::move(errors)) {  // NOLINT: implicit
    expects(has_error(diagnostics_), "a Result without a value needs an error");
  }
  Result(Diagnostic error) : Result(Diagnostics{std::move(error)}) {}  // NOLINT: implicit

  bool has_value() const { return value_.has_value(); }
  explicit operator bool() const { return has_value(); }

  const T& value() const& { return expects(has_value(), "value() of a failed Result"), *value_; }
  T& value() & { return expects(has_value(), "value() of a failed Result"), *value_; }
  T&& value() && { return expects(has_value(), "value() of a failed Result"), *std::move(value_); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  /// Errors if there is no value, else warnings and notes (possibly none).
  const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  std::optional<T> value_;
  Diagnostics diagnostics_;
};

}  // namespace takt
