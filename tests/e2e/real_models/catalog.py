"""Real models of installed packages, small and on random data: `MODELS[name]() -> (model, compute_loss)`."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch

if not torch.backends.cuda.is_built():
    # The packaged torchvision is built for CUDA: beside a CPU torch its two operators have to be declared by hand.
    declared = torch.library.Library("torchvision", "DEF")
    for operator in ("nms", "qnms"):
        declared.define(operator + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

MODELS = {}
PACKAGE = {}


def of(package):
    def note(factory):
        MODELS[factory.__name__] = factory
        PACKAGE[factory.__name__] = package
        return factory

    return note


def tokens(length=16):
    return torch.randint(3, 100, (2, length))


def images(size=32, channels=3):
    return torch.randn(2, channels, size, size)


def square(output):
    """Some scalar that depends on everything the model returned first."""
    while not isinstance(output, torch.Tensor):
        output = next(iter(output.values())) if isinstance(output, dict) else output[0]
    return output.float().pow(2).mean()


def on(model, *inputs):
    return model, lambda m: square(m(*inputs))


def language_model(model):
    ids = tokens()
    return model, lambda m: m(input_ids=ids, labels=ids).loss


@of("transformers")
def bert():
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    return language_model(BertForMaskedLM(config))


@of("transformers")
def gpt2_checkpointed():
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=2, n_positions=32, bos_token_id=0, eos_token_id=0))
    model.gradient_checkpointing_enable()
    return language_model(model)


@of("transformers")
def llama():
    from transformers import AutoModelForCausalLM, LlamaConfig

    sizes = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1)
    return language_model(AutoModelForCausalLM.from_config(LlamaConfig(vocab_size=100, **sizes)))


@of("transformers")
def mixtral():
    from transformers import MixtralConfig, MixtralForCausalLM

    sizes = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1)
    return language_model(MixtralForCausalLM(MixtralConfig(vocab_size=100, num_local_experts=4, **sizes)))


@of("transformers")
def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = dict(d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2)
    return language_model(T5ForConditionalGeneration(T5Config(vocab_size=100, decoder_start_token_id=0, **sizes)))


@of("transformers")
def wav2vec2():
    from transformers import Wav2Vec2Config, Wav2Vec2Model

    convolutions = dict(conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2)
    positions = dict(num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4)
    config = Wav2Vec2Config(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        layerdrop=0.0,
        mask_time_prob=0.0,
        **convolutions,
        **positions,
    )
    return on(Wav2Vec2Model(config), torch.randn(2, 800))


@of("torchvision")
def resnet18():
    import torchvision

    return on(torchvision.models.resnet18(weights=None), images())


@of("torchvision")
def densenet():
    import torchvision

    return on(torchvision.models.DenseNet(growth_rate=8, block_config=(2, 2, 2, 2), num_init_features=16, num_classes=4), images())


@of("torchvision")
def mobilenet_v3():
    import torchvision

    return on(torchvision.models.mobilenet_v3_small(weights=None), images())


@of("torchvision")
def swin():
    import torchvision

    sizes = dict(patch_size=[4, 4], embed_dim=16, depths=[1, 1, 2], num_heads=[2, 2, 2], window_size=[4, 4], num_classes=4)
    return on(torchvision.models.SwinTransformer(**sizes), images())


@of("timm")
def resnet26d():
    import timm

    return on(timm.create_model("resnet26d", pretrained=False), images())


@of("timm")
def vit_checkpointed():
    import timm

    model = timm.create_model("vit_tiny_patch16_224", pretrained=False, img_size=32, depth=2)
    model.set_grad_checkpointing(True)
    return on(model, images())


@of("timm")
def convnext_atto():
    import timm

    return on(timm.create_model("convnext_atto", pretrained=False, depths=(1, 1, 1, 1)), images())


@of("segmentation-models-pytorch")
def unet_resnet18():
    import segmentation_models_pytorch

    return on(segmentation_models_pytorch.Unet("resnet18", encoder_weights=None, classes=2), images())


@of("diffusers")
def unet2d():
    from diffusers import UNet2DModel

    blocks = dict(down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"))
    model = UNet2DModel(sample_size=16, layers_per_block=1, block_out_channels=(16, 32), norm_num_groups=8, attention_head_dim=8, **blocks)
    return on(model, images(16), torch.tensor([1, 5]))


@of("diffusers")
def autoencoder_checkpointed():
    from diffusers import AutoencoderKL

    blocks = dict(down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)
    model = AutoencoderKL(block_out_channels=(16, 32), norm_num_groups=8, **blocks)
    model.enable_gradient_checkpointing()
    return on(model, images(16))


@of("monai")
def monai_unet():
    from monai.networks.nets import UNet

    return on(
        UNet(spatial_dims=2, in_channels=1, out_channels=2, channels=(8, 16, 32), strides=(2, 2), num_res_units=2), images(channels=1)
    )


@of("monai")
def monai_segresnet():
    from monai.networks.nets import SegResNet

    return on(SegResNet(spatial_dims=2, init_filters=8, in_channels=1, out_channels=2), images(channels=1))


@of("x-transformers")
def x_decoder():
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    layers = Decoder(dim=32, depth=2, heads=2, rotary_pos_emb=True)
    return on(AutoregressiveWrapper(TransformerWrapper(num_tokens=100, max_seq_len=32, attn_layers=layers)), tokens(17))


@of("vit-pytorch")
def lucid_vit():
    from vit_pytorch import ViT

    return on(ViT(image_size=32, patch_size=8, num_classes=4, dim=32, depth=2, heads=2, mlp_dim=64), images())


@of("torch-geometric")
def gat():
    from torch_geometric.nn.models import GAT

    model = GAT(16, 16, num_layers=3, out_channels=4, heads=2, norm="batch")
    return on(model, torch.randn(20, 16), torch.randint(0, 20, (2, 60)))


@of("efficientnet-pytorch")
def efficientnet_b0():
    from efficientnet_pytorch import EfficientNet

    return on(EfficientNet.from_name("efficientnet-b0", width_coefficient=0.3, depth_coefficient=0.3), images())


@of("torch")
def torch_transformer():
    sequence = torch.randn(2, 8, 32)
    return on(torch.nn.Transformer(32, 2, 2, 2, 64, batch_first=True), sequence, sequence)
