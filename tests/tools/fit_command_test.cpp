// takt fit as a user types it.
#include "catch.hpp"
#include "command_line.hpp"

#include <sstream>

using namespace takt;

namespace {

struct Outcome {
  ExitStatus status = ExitStatus::done;
  std::string out;
  std::string err;
};

Outcome takt_fit(const std::string& line) {
  std::vector<std::string> words = {"fit"};
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word);
  std::ostringstream out, err;
  const ExitStatus status = run_command_line(words, {out, err});
  return {status, out.str(), err.str()};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string verdict(const std::string& line) {
  const std::string out = takt_fit(line).out;
  const std::size_t begin = out.find("Verdict: ");
  return begin == std::string::npos ? "none in:\n" + out : out.substr(begin + 9, out.find('\n', begin) - begin - 9);
}

const std::string fits = "fits.", too_big = "does not fit: the model states alone are more than ";

}  // namespace

TEST_CASE("8B full with 32-bit AdamW fits one H200 NVL and not one RTX PRO 6000 (X30)", "[tools][fit]") {
  const std::string full = "--model llama-3.1-8b --sequence 4096 --card ";
  CHECK(verdict(full + "h200-nvl") == fits);
  CHECK(verdict(full + "rtx-pro-6000-server") == too_big + "a card has.");
  CHECK(verdict(full + "rtx-pro-6000-server --optimizer adamw-8bit") == fits);
  CHECK(verdict(full + "rtx-pro-6000-server --count 2") == fits);
}

TEST_CASE("70B LoRA in BF16 needs two cards of either kind (X29)", "[tools][fit]") {
  struct Case {
    std::string card, exceeded;
  };
  for (const Case& c : {Case{"h200-nvl", "the nominal capacity."}, Case{"rtx-pro-6000-server", "a card has."}}) {
    const std::string lora = "--model llama-3.3-70b --method lora --sequence 4096 --card " + c.card;
    CHECK(verdict(lora) == too_big + c.exceeded);
    CHECK(verdict(lora + " --count 2") == fits);
  }
}

TEST_CASE("70B full fits eight H200 NVL only with 8-bit moments or an offload (X31)", "[tools][fit]") {
  const std::string full = "--model llama-3.3-70b --card h200-nvl --count 8 --sequence 4096";
  const Outcome outcome = takt_fit(full + " --require-fit");
  CHECK(outcome.status == ExitStatus::invalid);
  CHECK(has(outcome.out, "141.1\n"));
  CHECK(has(outcome.out, "8-bit AdamW"));
  CHECK(has(outcome.out, "optimizer offloaded to host memory"));
  CHECK(has(outcome.out, "16 cards"));
  CHECK(verdict(full + " --optimizer adamw-8bit") == fits);
  const std::string offloaded = takt_fit(full + " --offload host").out;
  CHECK(has(offloaded, "987.8 GB of optimizer states"));
  CHECK(has(offloaded, "free beside the model states       123.4              133.1"));
  CHECK(has(takt_fit(full + " --offload nvme").out, "on NVMe"));
}

TEST_CASE("a longer sequence, a larger micro-batch and no checkpointing raise the peak until it does not fit",
          "[tools][fit]") {
  const std::string lora = "--model qwen3-32b --method lora --card rtx-pro-6000-server --sequence ";
  CHECK(verdict(lora + "4096") == fits);
  const std::string peak_too_big = "does not fit: the model states would, but not the peak of a step.";
  CHECK(verdict(lora + "32768") == peak_too_big);
  CHECK(verdict(lora + "4096 --micro-batch 8") == peak_too_big);
  CHECK(verdict(lora + "4096 --checkpointing none") == peak_too_big);
  CHECK(has(takt_fit(lora + "4096 --checkpointing none").out, "full activation checkpointing"));
  CHECK(has(takt_fit(lora + "4096 --micro-batch 8").out, "a micro-batch of 1"));
}

TEST_CASE("a MIG slice is sized as a card of its own, and never shares a run", "[tools][fit]") {
  const std::string lora = "--model llama-3.1-8b --method lora --card ";
  const Outcome small = takt_fit(lora + "h200-nvl --mig 1g.18gb");
  CHECK(has(small.out, "a card has 7 such slices; each has 18 SMs, 600 GB/s of memory bandwidth"));
  CHECK(has(small.out, "Verdict: " + too_big + "what the driver shows."));
  CHECK(verdict(lora + "rtx-pro-6000-server --mig 1g.24gb") ==
        "the model states fit. With --sequence, a step is played for its peak.");
  CHECK(takt_fit("--card h200-nvl --mig 1g.18gb --count 2").err ==
        "error: MIG slices cannot share a run: NCCL does not support MIG\nhint: leave --count or --mig out\n");
  CHECK(takt_fit("--mig 1g.18gb").err == "error: --mig needs --card: profiles differ from card to card\n");
}

TEST_CASE("wishes that nobody can grant are refused with a reason", "[tools][fit]") {
  const std::string base = "--model qwen3-8b --card h200-nvl ";
  CHECK(has(takt_fit(base + "--precision nvfp4").err, "NVIDIA H200 NVL cannot compute in NVFP4"));
  CHECK(has(takt_fit(base + "--offload host --optimizer adamw-8bit").err, "runs on the CPU with 32-bit states"));
  CHECK(has(takt_fit(base + "--count 4 --offload host --strategy ddp").err, "counted for ZeRO's stages"));
  CHECK(has(takt_fit("--model qwen3-8c --card h200-nvl").err, "did you mean"));
  CHECK(takt_fit(base + "--count 5000").err == "error: --count cannot be 5000\nhint: at most 1024 cards are sized\n");
  CHECK(takt_fit("scenario.toml").status == ExitStatus::wrong_usage);
}

TEST_CASE("without a model, a card's common cases; without both, the least cards of every card", "[tools][fit]") {
  const std::string of_card = takt_fit("--card h200-nvl").out;
  CHECK(has(of_card, "Qwen3 32B, full fine-tune, bf16, AdamW             (524.2)  (262.1)    131.0     65.5"));
  const std::string overview = takt_fit("").out;
  // 8B and 32B on QLoRA, LoRA, full in 8 bits, full; 70B full on no number of cards
  CHECK(has(overview,
            "h200-nvl                       141.0              150.8       1 1 1 1    1 1 4 4        1 2 8 -\n"));
  CHECK(has(takt_fit("--model llama-3.3-70b --method lora").out, "rtx-pro-6000-server"));
}

TEST_CASE("files for programs", "[tools][fit]") {
  const std::string one = "--model llama-3.1-8b --card h200-nvl --format ";
  const std::string json = takt_fit(one + "json").out;
  CHECK(has(json, "\"schema\": \"takt.fit/1\""));
  CHECK(has(json, "\"resumable\": 112423657472"));
  CHECK(has(json, "\"verdict\": \"states fit\""));
  const std::string csv = takt_fit(one + "csv").out;
  CHECK(
      has(csv, "Llama 3.1 8B,full,adamw,none,h200-nvl,,1,none,128484179968,141000000000,150754820096,,0,states fit\n"));
}
