#include "annotator/kernels/kernel_name.h"

#include <chrono>

#include "annotator/kernels/demangle.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::kernels;

namespace {

struct Row {
  const char* name;
  Family family;
  const char* label;
};

}  // namespace

TEST_CASE("kernel names of every vendor tell family, type and tile") {
  const Row rows[] = {
      {"ampere_sgemm_128x64_tn", Family::gemm, "gemm f32 128x64"},
      {"void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1>(Params)", Family::gemm, "gemm bf16 256x128"},
      {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_tn_align1>(Params)", Family::gemm, "gemm tf32 256x64"},
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
       Family::gemm, "gemm bf16 128x128x64"},
      {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", Family::gemm, "gemm 128x256"},
      {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT32x32x256_MI16x16x1_SN_LDSB1", Family::gemm, "gemm bf16 32x32x256"},
      {"volta_scudnn_128x64_stridedB_splitK_xregs_large_nn_v1", Family::convolution, "convolution f32 128x64"},
      {"void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int, int)", Family::convolution, "convolution f32"},
      {"igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x128x32_wt32x32x8_ws1x1_wr2x2_ta1x8x2x1", Family::convolution,
       "convolution bf16 128x128x32"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int)",
       Family::elementwise, "add f32"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "
       "at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 3> >(int)",
       Family::elementwise, "mul f32"},
      {"void at::native::vectorized_elementwise_kernel<4, "
       "at::native::sigmoid_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() "
       "const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int)",
       Family::elementwise, "sigmoid bf16"},
      {"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::(anonymous namespace)::direct_copy_kernel_cuda("
       "at::TensorIteratorBase&)::{lambda(long)#1}>(int)",
       Family::copy, "copy i64"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, at::detail::Array<char*, 1> >(int)", Family::fill,
       "fill f32"},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>, unsigned int, float, 4> "
       ">(int)",
       Family::reduction, "mean f32"},
      {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, c10::BFloat16>(int)", Family::softmax,
       "softmax bf16"},
      {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int)", Family::normalization,
       "normalization bf16"},
      {"void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float)", Family::normalization, "normalization f32"},
      {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>(int)", Family::optimizer, "adam f32"},
      {"void at::native::(anonymous namespace)::max_pool_backward_nchw<float, float>(int)", Family::pooling, "pooling f32"},
      {"void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long>(int)", Family::embedding, "embedding bf16"},
      {"void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, int, int>::Policy800>(int)", Family::sort, "sort i64"},
      {"void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4>(int)", Family::random, "random f32"},
      {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>, true>(Params)", Family::attention, "attention"},
      {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(Params)", Family::attention, "attention f32 64x64"},
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Family::communication, "all_reduce bf16"},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)", Family::communication, "all_reduce"},
      {"Memcpy HtoD (Pinned -> Device)", Family::copy, "copy"},
      {"Memset (Device)", Family::fill, "fill"},
      {"triton_poi_fused_add_cos_sin_0", Family::elementwise, "add_cos_sin"},
      {"triton_per_fused_native_layer_norm_1", Family::normalization, "native_layer_norm"},
      {"triton_red_fused_sum_2", Family::reduction, "sum"},
      {"_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3INS_28GridwiseGemm_xdl_cshuffle_v3EEEvv",
       Family::convolution, "convolution"},
      {"a_kernel_of_mine", Family::other, "a_kernel_of_mine"},
      {"", Family::other, "other"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const KernelName parts = kernel_name(row.name);
    CHECK(name(parts.family) == name(row.family));
    CHECK(parts.label == row.label);
  }
}

TEST_CASE("kernels of inference servers have families, and a library's name is none") {
  const auto family = [](const char* name) { return kernel_name(name).family; };
  CHECK(family("bmm_E2m1_E2m1E2m1_Fp32_t128x64x256u2_s5_et128x64_m128x64x64_cga1x1x1_16dp256b_TN_transOut_sm100a") == Family::gemm);
  CHECK(family("bmm_Bfloat16_E2m1E2m1_Fp32_t128x8x512u2_s6_et64x8_m64x8x64_cga1x1x1_sm100f") == Family::gemm);
  CHECK(family("fused_moe_kernel") == Family::gemm);
  CHECK(family("void deep_gemm::sm100_fp8_gemm_1d1d_impl<(cute::UMMA::Major)0>(unsigned int*)") == Family::gemm);
  CHECK(family("kernel_cutlass_kernel_flashinfergemmgrouped_gemm_masked_blackwellSm100_object_at__tensor") == Family::gemm);
  CHECK(family("fmhaSm100fKernel_QkvBfloat16OBfloat16H64PagedKvCausalP32") == Family::attention);
  CHECK(family("void flashinfer::BatchPrefillWithPagedKVCacheKernel<float>(flashinfer::attention::Params)") == Family::attention);
  CHECK(family("void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*)") == Family::normalization);
  CHECK(family("void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &silu>(__nv_bfloat16*)") == Family::elementwise);
  CHECK(family("void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u>(float*)") == Family::sort);
  CHECK(family("void vllm::act_and_mul_kernel<c10::BFloat16, true>(c10::BFloat16*)") == Family::elementwise);
  CHECK(family("void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)") == Family::elementwise);
  CHECK(family("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>(__nv_bfloat16 const*)") == Family::copy);
  CHECK(family("void vllm::moe::moe_align_block_size_kernel<int>(int*)") == Family::sort);
  CHECK(family("void moe::dev::routing::routingRenormalize::routingIndicesClusterKernel<float>(float)") == Family::sort);
  CHECK(family("void moe::dev::finalize::finalizeKernel<moe::dev::finalize::KernelParams<float>>(float)") == Family::reduction);
  CHECK(family("void tensorrt_llm::kernels::quantize_with_block_size<float>(int)") == Family::elementwise);
  CHECK(family("void zqx::unknown_thing<float>(int)") == Family::other);
}

TEST_CASE("operators have families too, and views none that takes time") {
  CHECK(operator_name("aten::addmm").family == Family::gemm);
  CHECK(operator_name("aten::mkldnn_convolution").family == Family::convolution);
  CHECK(operator_name("aten::native_batch_norm").family == Family::normalization);
  CHECK(operator_name("aten::_scaled_dot_product_flash_attention_for_cpu").family == Family::attention);
  CHECK(operator_name("aten::copy_").family == Family::copy);
  CHECK(operator_name("aten::mul").family == Family::elementwise);
  CHECK(operator_name("aten::as_strided").family == Family::view);
  CHECK(operator_name("aten::t").family == Family::view);
  CHECK(operator_name("autograd::engine::evaluate_function: AddmmBackward0").family == Family::view);
  CHECK(operator_name("MulBackward0").family == Family::view);
  CHECK(operator_name("aten::convolution_backward").family == Family::convolution);
  CHECK(operator_name("mylib::thing").family == Family::other);
  CHECK(operator_name("cpp_fused_addmm_relu_0").family == Family::elementwise);
  CHECK(operator_name("cpp_fused_native_layer_norm_backward_12").family == Family::normalization);
  CHECK(operator_name("cpp_fused__softmax_mul_3").family == Family::softmax);
}

TEST_CASE("mangled names become readable") {
  CHECK(demangled("_Z3fooIfEvPT_i") == "void foo<float>(float*, int)");
  CHECK(demangled("_ZN2at6native3addEv") == "at::native::add()");
  CHECK(demangled("plain_kernel") == "plain_kernel");
  CHECK(demangled("_Zrubbish") == "_Zrubbish");
  CHECK(mangled_words("_ZN2at6native12_GLOBAL__N_13addEv") == "at::native::_GLOBAL__N_1::add");
}

TEST_CASE("hostile names cost no more than their length, and no more memory than they are worth") {
  using Clock = std::chrono::steady_clock;
  std::string doubling = "_Z1fSt4pairIiiE";
  for (int i = 0; i < 60; ++i) doubling += "St4pairIS_S_E";
  const std::vector<std::string> names = {std::string(10'000'000, 'x'),
                                          "_Z1f" + std::string(10'000'000, 'P') + "i",
                                          "_Z" + std::string(5'000, 'N'),
                                          std::string(100'000, '<'),
                                          std::string(100'000, '('),
                                          "_Z99999999999999999999999999x",
                                          "void " + std::string(50'000, ':'),
                                          doubling,
                                          std::string("a\0b", 3),
                                          "\xff\xfe\x1b[2J"};
  for (const std::string& hostile : names) {
    const auto start = Clock::now();
    const KernelName parts = kernel_name(hostile);
    CHECK(parts.label.size() < 200);
    CHECK(operator_name(hostile).label.size() < 200);
    CHECK(demangled(hostile).size() < 10'000'001);
    CHECK(Clock::now() - start < std::chrono::seconds(2));
  }
}
