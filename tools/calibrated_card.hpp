// What `takt calibrate` makes of the measurements of one card.
#pragma once

#include "calibration/card_file.hpp"
#include "calibration/measurements.hpp"
#include "config/library.hpp"

#include <optional>
#include <string>
#include <vector>

namespace takt {

struct CardRequest {
  std::string card;    ///< its id
  std::string source;  ///< for the file: where the measurements come from
  std::optional<std::string> like;
};

struct CalibratedCard {
  CardSpec card;  ///< as its file was
  std::vector<FittedGemm> products;
  FittedEfficiency efficiency;
  std::vector<KernelErrors> kernels;  ///< with the new shares
  std::optional<double> sustained;    ///< of the rate of short products
};

/// Errors: an unknown card, a precision that it lacks, too few products, shares that cannot be.
Result<CalibratedCard> calibrated_card(const CardRequest& request, const std::vector<Measurement>& measured,
                                       Library& library);

/// Tables of what was fitted and of what was only scored.
std::string calibrated_text(const std::vector<CalibratedCard>& cards);

/// A file to be written.
struct OutputFile {
  std::string path;
  std::string text;
};

/// The card's file in `folder`, and the residuals that lie beside it. Errors: a constant that no card's file may have, a
/// file whose [efficiency] cannot be changed.
Result<std::vector<OutputFile>> files_of(const CalibratedCard& calibrated, const std::string& folder,
                                         const std::string& source);

}  // namespace takt
