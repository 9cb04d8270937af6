// Times of Pinocchio's kernels on machines given as plain text (see pinocchio.py): minimum over many repeats, ns per call.
#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
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

// One joint a line: parent, kind (r or p), axis, translation, rotation by rows, mass, centre of mass, inertia by rows.
static pinocchio::Model read(const char *path) {
  pinocchio::Model model;
  std::ifstream in(path);
  int parent;
  char kind;
  while (in >> parent >> kind) {
    Eigen::Vector3d axis, r, c;
    Eigen::Matrix3d R, I;
    double mass;
    for (int k = 0; k < 3; ++k) in >> axis[k];
    for (int k = 0; k < 3; ++k) in >> r[k];
    for (int k = 0; k < 9; ++k) in >> R(k / 3, k % 3);
    in >> mass;
    for (int k = 0; k < 3; ++k) in >> c[k];
    for (int k = 0; k < 9; ++k) in >> I(k / 3, k % 3);
    pinocchio::SE3 placement(R, r);
    std::string name = "j" + std::to_string(model.njoints);
    auto add = [&](auto joint) { return model.addJoint(parent, pinocchio::JointModel(joint), placement, name); };
    pinocchio::JointIndex joint;
    // aligned joints have their own, quicker types, as when a URDF is read
    if (kind == 'r')
      joint = axis.isApprox(Eigen::Vector3d::UnitX())   ? add(pinocchio::JointModelRX())
              : axis.isApprox(Eigen::Vector3d::UnitY()) ? add(pinocchio::JointModelRY())
              : axis.isApprox(Eigen::Vector3d::UnitZ()) ? add(pinocchio::JointModelRZ())
                                                        : add(pinocchio::JointModelRevoluteUnaligned(axis));
    else
      joint = axis.isApprox(Eigen::Vector3d::UnitX())   ? add(pinocchio::JointModelPX())
              : axis.isApprox(Eigen::Vector3d::UnitY()) ? add(pinocchio::JointModelPY())
              : axis.isApprox(Eigen::Vector3d::UnitZ()) ? add(pinocchio::JointModelPZ())
                                                        : add(pinocchio::JointModelPrismaticUnaligned(axis));
    model.appendBodyToJoint(joint, pinocchio::Inertia(mass, c, I), pinocchio::SE3::Identity());
  }
  return model;
}

int main(int argc, char **argv) {
  for (int k = 1; k < argc; ++k) {
    pinocchio::Model model = read(argv[k]);
    pinocchio::Data data(model);
    Eigen::VectorXd q = Eigen::VectorXd::Random(model.nq), v = Eigen::VectorXd::Random(model.nv), x = Eigen::VectorXd::Random(model.nv);
    // a number to compare with another engine's
    if (std::getenv("CHECK")) {
      Eigen::VectorXd rest = Eigen::VectorXd::Zero(model.nv), q0 = Eigen::VectorXd::Zero(model.nq);
      std::printf("# %s potential-free effort %.15g\n", argv[k], pinocchio::rnea(model, data, q0, rest, rest).norm());
    }
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
