// Times of Pinocchio's kernels on the machines given as URDF files: minimum over many repeats, ns per call.
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>
#include <pinocchio/parsers/urdf.hpp>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>

using Clock = std::chrono::steady_clock;

static double best(const std::function<void()> &call) {
  // repeats long enough for the clock, the quickest of forty
  int calls = 16;
  for (;; calls *= 2) {
    auto start = Clock::now();
    for (int k = 0; k < calls; ++k) call();
    if (Clock::now() - start > std::chrono::milliseconds(2)) break;
  }
  double least = 1e300;
  for (int repeat = 0; repeat < 40; ++repeat) {
    auto start = Clock::now();
    for (int k = 0; k < calls; ++k) call();
    double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls;
    if (ns < least) least = ns;
  }
  return least;
}

int main(int argc, char **argv) {
  for (int k = 1; k < argc; ++k) {
    pinocchio::Model model;
    pinocchio::urdf::buildModel(argv[k], model);
    pinocchio::Data data(model);
    Eigen::VectorXd q(model.nq), v = Eigen::VectorXd::Random(model.nv), x = Eigen::VectorXd::Random(model.nv);
    q = pinocchio::neutral(model);
    q = pinocchio::integrate(model, q, Eigen::VectorXd(Eigen::VectorXd::Random(model.nv)));
    std::string name(argv[k]);
    name = name.substr(name.find_last_of('/') + 1);
    name = name.substr(0, name.find('.'));
    std::printf("aba %s %.1f\n", name.c_str(), best([&] { pinocchio::aba(model, data, q, v, x, pinocchio::Convention::LOCAL); }));
    std::printf("aba_world %s %.1f\n", name.c_str(), best([&] { pinocchio::aba(model, data, q, v, x, pinocchio::Convention::WORLD); }));
    std::printf("rnea %s %.1f\n", name.c_str(), best([&] { pinocchio::rnea(model, data, q, v, x); }));
    std::printf("crba %s %.1f\n", name.c_str(), best([&] { pinocchio::crba(model, data, q, pinocchio::Convention::LOCAL); }));
    std::printf("crba_world %s %.1f\n", name.c_str(), best([&] { pinocchio::crba(model, data, q, pinocchio::Convention::WORLD); }));
    std::printf("rnea_derivatives %s %.1f\n", name.c_str(), best([&] { pinocchio::computeRNEADerivatives(model, data, q, v, x); }));
    std::printf("aba_derivatives %s %.1f\n", name.c_str(), best([&] { pinocchio::computeABADerivatives(model, data, q, v, x); }));
  }
}
