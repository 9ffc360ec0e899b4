"""The ops that are methods of Tensor: those of the registry that PyTorch 2.15 has as methods. A test compares the list."""

METHODS = frozenset("""
abs abs_ acos acos_ acosh acosh_ add add_ addcdiv addcdiv_ addcmul addcmul_ addmm all amax amin aminmax any argmax argmin
argsort as_strided asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ baddbmm bernoulli bernoulli_ bincount
bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or bitwise_or_
bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_ bmm ceil ceil_ chunk clamp clamp_ clamp_max clamp_max_
clamp_min clamp_min_ clone contiguous copy_ copysign copysign_ cos cos_ cosh cosh_ count_nonzero cummax cummin cumprod cumsum
deg2rad deg2rad_ detach diagonal div div_ dot eq eq_ erf erf_ erfc erfc_ erfinv erfinv_ exp exp2 exp2_ exp_ expand expm1
expm1_ exponential_ fill_ flatten flip float_power float_power_ floor floor_ floor_divide floor_divide_ fmax fmin fmod fmod_
frac frac_ gather ge ge_ gt gt_ hardshrink heaviside heaviside_ histc hypot hypot_ index_put index_put_ index_select isfinite
isinf isnan isneginf isposinf item kthvalue ldexp ldexp_ le le_ lerp lerp_ log log10 log10_ log1p log1p_ log2 log2_ log_
log_softmax logaddexp logaddexp2 logcumsumexp logical_and logical_and_ logical_not logical_not_ logical_or logical_or_
logical_xor logical_xor_ logit logit_ logsumexp lt lt_ masked_fill masked_fill_ masked_scatter masked_select matmul max
maximum mean median min minimum mm movedim mul mul_ multinomial mv nan_to_num nan_to_num_ narrow ne ne_ neg neg_ nextafter
nextafter_ nonzero norm normal_ outer permute pow pow_ prod rad2deg rad2deg_ reciprocal reciprocal_ relu relu_ remainder
remainder_ repeat repeat_interleave reshape roll round round_ rsqrt rsqrt_ scatter scatter_ scatter_add scatter_add_
scatter_reduce scatter_reduce_ select select_scatter sgn sgn_ sigmoid sigmoid_ sign sign_ signbit sin sin_ sinc sinc_ sinh
sinh_ slice_scatter softmax sort split split_with_sizes sqrt sqrt_ square square_ squeeze std sub sub_ sum t take_along_dim
tan tan_ tanh tanh_ to topk transpose tril tril_ triu triu_ trunc trunc_ unbind unflatten uniform_ unique unsqueeze var view
xlogy xlogy_ zero_
""".split())
