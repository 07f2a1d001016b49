// MiniMalloc's solver on memplan, and with MINIMALLOC_MAIN its command:
//   minimalloc --capacity=N --input=problem.csv --output=solution.csv [--timeout=SECONDSs] [--validate]
#include "minimalloc.h"

#include <algorithm>
#include <chrono>

#include "memplan.h"

namespace minimalloc {
namespace {

struct Rows {
  std::vector<memplan_buffer> buffers;
  std::vector<memplan_gap> gaps;
  memplan_problem problem{};

  explicit Rows(const Problem &from) {
    for (size_t i = 0; i < from.buffers.size(); ++i) {
      const Buffer &row = from.buffers[i];
      memplan_buffer buffer = {};
      buffer.size = row.size, buffer.begin = row.lifespan.lower(), buffer.end = row.lifespan.upper();
      buffer.alignment = row.alignment, buffer.pin = row.offset.value_or(MEMPLAN_FREE);
      buffers.push_back(buffer);
      for (const Gap &gap : row.gaps) gaps.push_back({i, gap.lifespan.lower(), gap.lifespan.upper()});
    }
    problem.buffers = buffers.data(), problem.count = buffers.size(), problem.capacity = from.capacity;
    problem.gaps = gaps.data(), problem.gap_count = gaps.size();
  }
};

constexpr int64_t kFirstWork = 1000;

}  // namespace

SolutionOr Solver::Solve(const Problem &problem) {
  const Rows rows(problem);
  const auto start = std::chrono::steady_clock::now();
  memplan_options options = {};
  Solution solution{std::vector<Offset>(problem.buffers.size())};
  memplan_result result = {};
  // Any plan within the capacity will do, unless the least peak is asked for: twice the work each time, until it fits.
  do {
    options.work = params_.minimize_capacity ? INT64_MAX : options.work == 0 ? kFirstWork : 2 * options.work;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    if (params_.timeout_s > 0) options.seconds = std::max(1e-3, params_.timeout_s - spent.count());
    result = memplan_plan(&rows.problem, &options, solution.offsets.data());
  } while (result.status == MEMPLAN_UNKNOWN && result.nodes >= options.work);
  nodes_ = result.nodes;
  if (result.status == MEMPLAN_OPTIMAL || result.status == MEMPLAN_FEASIBLE) return solution;
  if (result.status == MEMPLAN_INVALID)
    return "INVALID_ARGUMENT: buffer " + std::to_string(result.buffer) + ": " + memplan_rule_text(result.rule);
  return std::string(result.status == MEMPLAN_INFEASIBLE ? "NOT_FOUND: nothing fits" : "DEADLINE_EXCEEDED");
}

}  // namespace minimalloc

#ifdef MINIMALLOC_MAIN
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

using namespace minimalloc;

static std::vector<std::string> split(const std::string &text, char by) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(part);
  return parts;
}

// Ends of a column `end` are inclusive, those of `upper` are not.
static Problem read_csv(std::istream &input) {
  static const std::map<std::string, std::string> kNames = {
      {"buffer", "id"}, {"buffer_id", "id"}, {"start", "lower"}, {"begin", "lower"}};
  Problem problem;
  std::map<std::string, size_t> columns;
  int64_t more = 0;
  for (std::string line; std::getline(input, line) && !line.empty();) {
    if (line.back() == '\r') line.pop_back();
    const std::vector<std::string> fields = split(line, ',');
    if (columns.empty()) {
      for (size_t k = 0; k < fields.size(); ++k) {
        const auto known = kNames.find(fields[k]);
        columns[known != kNames.end() ? known->second : fields[k] == "end" ? "upper" : fields[k]] = k;
        if (fields[k] == "end") more = 1;
      }
      continue;
    }
    const auto number = [&](const char *name) { return std::stoll(fields.at(columns.at(name))); };
    Buffer buffer;
    buffer.id = fields.at(columns.at("id")), buffer.size = number("size");
    buffer.lifespan = {number("lower"), number("upper") + more};
    if (columns.count("alignment")) buffer.alignment = number("alignment");
    if (columns.count("gaps") && columns["gaps"] < fields.size())
      for (const std::string &gap : split(fields[columns["gaps"]], ' ')) {
        const std::vector<std::string> ends = split(gap, '-');
        buffer.gaps.push_back({{std::stoll(ends.at(0)), std::stoll(ends.at(1)) + more}});
      }
    problem.buffers.push_back(buffer);
  }
  return problem;
}

int main(int count, char **arguments) {
  std::map<std::string, std::string> flags;
  for (int k = 1; k < count; ++k) {
    const std::string text = arguments[k];
    const size_t equals = text.find('=');
    if (equals != std::string::npos)
      flags[text.substr(0, equals)] = text.substr(equals + 1);
    else
      flags[text] = k + 1 < count && arguments[k + 1][0] != '-' ? arguments[++k] : "";
  }
  std::ifstream input(flags["--input"]);
  Problem problem = read_csv(input);
  problem.capacity = std::atoll(flags["--capacity"].c_str());
  Solver solver({std::atof(flags["--timeout"].c_str()), false});
  const SolutionOr solution = solver.Solve(problem);
  if (!solution.ok()) return std::cerr << solution.why() << std::endl, 1;
  if (flags.count("--validate")) {
    const Rows rows(problem);
    const memplan_result checked = memplan_check(&rows.problem, solution->offsets.data());
    std::cerr << (checked.status == MEMPLAN_FEASIBLE ? "PASS" : "FAIL") << std::endl;
  }
  std::ofstream output(flags["--output"]);
  output << "id,lower,upper,size,offset\n";
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &row = problem.buffers[i];
    output << row.id << ',' << row.lifespan.lower() << ',' << row.lifespan.upper() << ',' << row.size << ','
           << solution->offsets[i] << '\n';
  }
  return 0;
}
#endif
