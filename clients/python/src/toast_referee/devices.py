"""GPUs as XLA describes them (its GpuTargetConfig, text format), so that it compiles for one that is not there.

The figures are those of the descriptions in openxla/xla (xla/backends/gpu/target_config/specs), of which the plugin reads all but the
newest fields. Rates by type are what XLA's matmul model scales its tables with; a description without them (A100) gives
memory and collectives, but no times. Keys of rates are XLA's numbers of element types.

Never a measurement, and never TOAST's own device: cost/devices.c has those.
"""
import dataclasses

HOPPER_LANES = {4: (1.98, 64, 1), 8: (1.98, 64, 1), 10: (1.98, 128, 2), 11: (1.98, 128, 1), 12: (1.98, 64, 1), 16: (1.98, 128, 2)}
HOPPER_NARROW = 2, 6, 19, 20, 23, 24, 25, 28, 29, 33, 35, 36   # one byte or less: twice the rate of 16 bits
HOPPER_MATRIX = {**{key: (1.8295201, 4, 1024) for key in HOPPER_NARROW}, 10: (1.8295201, 4, 512), 11: (1.8295201, 4, 256),
                 12: (1.98, 4, 32), 16: (1.8295201, 4, 512)}


@dataclasses.dataclass(frozen=True)
class Gpu:
    name: str
    model: str
    cores: int
    fpus: int
    clock_ghz: float
    bandwidth_bytes: int        # a second
    memory_bytes: int
    l2_bytes: int
    shared_block_bytes: int     # shared memory that a block may ask for
    shared_core_bytes: int
    major: int
    accelerated: str            # XLA's name of what else the architecture has
    links: int = 0              # NVLink links that are up
    lanes: dict = dataclasses.field(default_factory=dict)
    matrix: dict = dataclasses.field(default_factory=dict)

    @property
    def has_times(self):
        return bool(self.matrix)


H100 = Gpu("NVIDIA H100 80GB HBM3", "sm_9.0a with 84942979072B RAM, 132 cores, 1980000KHz clock, 2619000KHz mem clock, 52428800B L2$",
           132, 128, 1.98, 3352320000000, 84942979072, 52428800, 232448, 233472, 9, "ACCELERATED_FEATURES", 18, HOPPER_LANES,
           HOPPER_MATRIX)
H200 = dataclasses.replace(
    H100, name="NVIDIA H200 141GB HBM3e", bandwidth_bytes=4800000000000, memory_bytes=151397597184,
    model="sm_9.0a with 151397597184B RAM, 132 cores, 1980000KHz clock, 3750000KHz mem clock, 52428800B L2$")
A100_80 = Gpu("NVIDIA A100-SXM4-80GB", "", 108, 64, 1.41, 2039040000000, 85100068864, 41943040, 166912, 167936, 8, "NONE")
A100_40 = dataclasses.replace(A100_80, name="NVIDIA A100-SXM4-40GB", bandwidth_bytes=1555200000000, memory_bytes=42331013120)

GPUS = {"h100": H100, "h200": H200, "a100-80": A100_80, "a100-40": A100_40}   # by TOAST's names of them


def rates(field, table):
    """one of XLA's tables of rates by element type"""
    rows = "".join(f"    rate_infos {{ key: {key} value {{ clock_rate_ghz: {clock} units_per_core: {units} ops_per_clock: {ops} }} }}\n"
                   for key, (clock, units, ops) in table.items())
    return f"  {field} {{\n{rows}  }}\n" if table else ""


def describe(gpu):
    """the text that XLA's deviceless compilation is given"""
    known = (f'  device_vendor: "NVIDIA Corporation"\n  platform_version: "Compute Capability {gpu.major}.0a"\n'
             f'  model_str: "{gpu.model}"\n  device_address_bits: 64\n  pcie_bandwidth: 34359738368\n  ecc_enabled: true\n'
             if gpu.model else "")
    more = ('  compile_time_toolkit_version: "12.8.0"\n  dnn_version: "9.10.0"\n'
            + ('  cub_version: "3.1.2"\n' if gpu.model else "")
            + (f"  device_interconnect_info {{ active_links: {gpu.links} }}\n" if gpu.links else ""))
    return f"""gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {gpu.shared_core_bytes}
  threads_per_core_limit: 2048
  core_count: {gpu.cores}
  fpus_per_core: {gpu.fpus}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: {gpu.bandwidth_bytes}
  l2_cache_size: {gpu.l2_bytes}
  clock_rate_ghz: {gpu.clock_ghz}
  device_memory_size: {gpu.memory_bytes}
  shared_memory_per_block_optin: {gpu.shared_block_bytes}
  cuda_compute_capability {{ major: {gpu.major} feature_extension: {gpu.accelerated} }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
{rates("scalar_unit_description", gpu.lanes)}{rates("matrix_unit_description", gpu.matrix)}  thread_dim_limit_x: 1024
  thread_dim_limit_y: 1024
  thread_dim_limit_z: 64
{known}  name: "{gpu.name}"
  driver_version: "13.0.0"
  runtime_version: "12.8.0"
{more}}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 }}
device_description_str: "{gpu.name}"
"""
