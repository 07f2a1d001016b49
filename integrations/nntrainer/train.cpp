/* SPDX-License-Identifier: Apache-2.0
 *
 * `train MODEL.ini BATCH` trains a model of nntrainer for three steps of drawn zeros and ones, runs it, and prints a line:
 * the loss, and a hash of losses, weights and outputs. It has nntrainer plan the memory of both 100 times more; a line
 * on standard error, `training` or `inference`, precedes the plans that NNTRAINER_MEMPLAN=log prints. */
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <dataset.h>
#include <model.h>

enum { STEPS = 3, PLANS = 100 };
static unsigned long long hash = 14695981039346656037u, drawn = 1;
static unsigned batch, given;
static std::vector<size_t> inputs, labels; // floats of one example

static void add(const void *bytes, size_t count) {
  for (size_t k = 0; k < count; ++k) hash = (hash ^ static_cast<const unsigned char *>(bytes)[k]) * 1099511628211u;
}

static void draw(float *to, size_t count) {
  for (size_t k = 0; k < count; ++k) drawn = drawn * 6364136223846793005u + 1442695040888963407u, to[k] = float(drawn >> 63);
}

static int example(float **input, float **label, bool *last, void *) {
  *last = given == STEPS * batch;
  for (size_t k = 0; k < inputs.size() && !*last; ++k) draw(input[k], inputs[k]);
  for (size_t k = 0; k < labels.size() && !*last; ++k) draw(label[k], labels[k]);
  given = *last ? 0 : given + 1;
  return 0;
}

int main(int, char **arguments) {
  batch = unsigned(std::atoi(arguments[2]));
  const auto model = ml::train::createModel(ml::train::ModelType::NEURAL_NET);
  if (model->loadFromConfig(arguments[1])) return 1;
  model->setProperty({"batch_size=" + std::string(arguments[2]), "epochs=1"});
  if (model->compile() || model->initialize()) return 1;
  for (const auto &dim : model->getInputDimension()) inputs.push_back(dim.getFeatureLen());
  for (const auto &dim : model->getOutputDimension()) labels.push_back(dim.getFeatureLen());
  std::fputs("training\n", stderr);
  for (int k = 0; k < PLANS; ++k) model->allocate(ml::train::ExecutionMode::TRAIN);
  model->setDataset(ml::train::DatasetModeType::MODE_TRAIN, ml::train::createDataset(ml::train::DatasetType::GENERATOR, example));
  if (model->train()) return 1;
  const float loss = model->getTrainingLoss();
  add(&loss, sizeof loss);
  const std::string file = std::string(arguments[1]) + ".bin";
  model->save(file);
  std::ifstream stream(file, std::ios::binary);
  const std::string weights{std::istreambuf_iterator<char>(stream), {}};
  add(weights.data(), weights.size());
  std::vector<std::vector<float>> data;
  std::vector<float *> places;
  for (const size_t size : inputs) data.emplace_back(batch * size), draw(data.back().data(), data.back().size());
  for (auto &each : data) places.push_back(each.data());
  std::fputs("inference\n", stderr);
  const auto outputs = model->inference(batch, places, {});
  for (size_t k = 0; k < outputs.size(); ++k) add(outputs[k], batch * labels[k] * sizeof(float));
  for (int k = 0; k < PLANS; ++k) model->allocate(ml::train::ExecutionMode::INFERENCE);
  std::remove(file.c_str());
  std::printf("\n%zu bytes of weights, loss %.9g, hash %016llx\n", weights.size(), loss, hash);
  return 0;
}
