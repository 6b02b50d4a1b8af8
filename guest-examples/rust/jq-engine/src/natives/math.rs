//! Functions of numbers.

use super::arithmetic::failure;
use super::arrays::arg;
use super::{Native, native};
use crate::value::Val;

type One = fn(f64) -> f64;
type Two = fn(f64, f64) -> f64;

fn number(value: &Val) -> Result<f64, Val> {
    value
        .number()
        .ok_or_else(|| failure(value, "number required"))
}

fn one(input: &Val, function: One) -> Result<Val, Val> {
    Ok(Val::Num(function(number(input)?)))
}

fn two(args: &[Val], function: Two) -> Result<Val, Val> {
    Ok(Val::Num(function(
        number(arg(args, 0))?,
        number(arg(args, 1))?,
    )))
}

/// Entries for functions of one number and of two.
macro_rules! table {
    ($($one:literal $first:expr,)* ; $($two:literal $second:expr,)*) => {
        &[
            $(native($one, 0, |input, _| one(&input, $first)),)*
            $(native($two, 2, |_, args| two(args, $second)),)*
            native("fma", 3, |_, args| {
                let (x, y, z) = (number(arg(args, 0))?, number(arg(args, 1))?, number(arg(args, 2))?);
                Ok(Val::Num(libm::fma(x, y, z)))
            }),
            native("frexp", 0, |input, _| {
                let (mantissa, exponent) = libm::frexp(number(&input)?);
                Ok(vec![mantissa.into(), f64::from(exponent).into()].into())
            }),
            native("modf", 0, |input, _| {
                let number = number(&input)?;
                if number.is_infinite() {
                    return Ok(vec![Val::Num(0.0_f64.copysign(number)), number.into()].into());
                }
                Ok(vec![(number - number.trunc()).into(), number.trunc().into()].into())
            }),
            native("lgamma_r", 0, |input, _| {
                let (value, sign) = libm::lgamma_r(number(&input)?);
                Ok(vec![value.into(), f64::from(sign).into()].into())
            }),
            native("infinite", 0, |_, _| Ok(f64::INFINITY.into())),
            native("nan", 0, |_, _| Ok(f64::NAN.into())),
            native("isinfinite", 0, |input, _| Ok(input.number().is_some_and(f64::is_infinite).into())),
            native("isfinite", 0, |input, _| Ok(input.number().is_some_and(|number| !number.is_infinite()).into())),
            native("isnan", 0, |input, _| Ok(input.number().is_some_and(f64::is_nan).into())),
            native("isnormal", 0, |input, _| Ok(input.number().is_some_and(f64::is_normal).into())),
        ]
    };
}

pub(super) const TABLE: &[Native] = table! {
    "acos" libm::acos,
    "acosh" libm::acosh,
    "asin" libm::asin,
    "asinh" libm::asinh,
    "atan" libm::atan,
    "atanh" libm::atanh,
    "cbrt" libm::cbrt,
    "ceil" f64::ceil,
    "cos" libm::cos,
    "cosh" libm::cosh,
    "erf" libm::erf,
    "erfc" libm::erfc,
    "exp" libm::exp,
    "exp10" libm::exp10,
    "exp2" libm::exp2,
    "expm1" libm::expm1,
    "fabs" f64::abs,
    "floor" f64::floor,
    "gamma" libm::lgamma,
    "j0" libm::j0,
    "j1" libm::j1,
    "lgamma" libm::lgamma,
    "log" libm::log,
    "log10" libm::log10,
    "log1p" libm::log1p,
    "log2" libm::log2,
    "logb" logb,
    "nearbyint" libm::rint,
    "pow10" libm::exp10,
    "rint" libm::rint,
    "round" f64::round,
    "significand" significand,
    "sin" libm::sin,
    "sinh" libm::sinh,
    "sqrt" f64::sqrt,
    "tan" libm::tan,
    "tanh" libm::tanh,
    "tgamma" libm::tgamma,
    "trunc" f64::trunc,
    "y0" libm::y0,
    "y1" libm::y1,
    ;
    "atan2" libm::atan2,
    "copysign" f64::copysign,
    "drem" libm::remainder,
    "fdim" libm::fdim,
    "fmax" f64::max,
    "fmin" f64::min,
    "fmod" libm::fmod,
    "hypot" libm::hypot,
    "jn" |order, x| libm::jn(order as i32, x),
    "ldexp" |x, exponent| libm::ldexp(x, exponent as i32),
    "nextafter" libm::nextafter,
    "nexttoward" libm::nextafter,
    "pow" libm::pow,
    "remainder" libm::remainder,
    "scalb" |x, exponent| x * libm::exp2(exponent),
    "scalbln" |x, exponent| libm::scalbn(x, exponent as i32),
    "yn" |order, x| libm::yn(order as i32, x),
};

fn logb(x: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x.is_infinite() {
        f64::INFINITY
    } else if x.is_nan() {
        x
    } else {
        f64::from(libm::ilogb(x))
    }
}

fn significand(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        x
    } else {
        libm::scalbn(x, -libm::ilogb(x))
    }
}
