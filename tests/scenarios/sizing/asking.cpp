#include "catch.hpp"
#include "config/card_state.hpp"
#include "scenarios/sizing/claims.hpp"

namespace takt::test {
namespace {

const SourcePlace nowhere{"test", 0, 0, ""};

}  // namespace

CardSpec card_file(const std::string& id) {
  Library library(search_path(nullptr));
  return library.card(id, nowhere).value();
}

CardSpec slice_file(const std::string& id, const std::string& profile) {
  return card_in_state(card_file(id), {profile, nowhere, std::nullopt, nowhere}).value();
}

FitResult fitted(const Asked& asked) {
  Library library(search_path(nullptr));
  FitQuestion question;
  question.scenario.finetune.method = asked.method;
  question.scenario.finetune.optimizer = asked.optimizer;
  question.model = library.model(asked.model, nowhere).value();
  question.card = library.card(asked.card, nowhere).value();
  question.offload = asked.offload;
  return fit(on_cards(question, asked.cards)).value();
}

}  // namespace takt::test
