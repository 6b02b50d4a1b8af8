//! Names of streams, buckets and subjects of a tenant, and the tokens that they consist of.

use toolhost::fleet::{CarrierError, Destination, Route};

/// Letters of a tenant.
const TENANT_MAX: usize = 32;

/// Letters of a label, and of the id of a worker or host.
const TOKEN_MAX: usize = 64;

/// Letters of the terms that are in a subject: 128 bits.
const TERMS: usize = 32;

/// Subjects of acknowledgements begin with it.
const ACK: &str = "$JS.ACK.";

/// Parts of a receipt without and with a domain. The latter may have one more.
const RECEIPT: usize = 9;
const RECEIPT_WITH_DOMAIN: std::ops::RangeInclusive<usize> = 11..=12;

/// The names of a tenant.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) tenant: String,
    pub(crate) calls: String,
    pub(crate) reports: String,
    pub(crate) claims: Bucket,
    pub(crate) leases: Bucket,
    /// Name of the object store bucket.
    pub(crate) blobs: String,
    /// Subject of what workers are told.
    pub(crate) orders: String,
}

/// A key-value bucket.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    pub(crate) stream: String,
    name: String,
}

/// Where messages for some receivers lie: a subject of a stream, and the consumer that hands its messages out.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    pub(crate) stream: String,
    pub(crate) subject: String,
    pub(crate) consumer: String,
}

/// A receipt that has the form of an acknowledgement of the tenant's streams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receipt<'a> {
    pub(crate) stream: &'a str,
    pub(crate) consumer: &'a str,
}

impl Names {
    pub(crate) fn new(tenant: &str) -> Self {
        let bucket = |of: &str| {
            let name = format!("toolhost_{tenant}_{of}");
            Bucket {
                stream: format!("KV_{name}"),
                name,
            }
        };
        Self {
            tenant: tenant.to_owned(),
            calls: format!("TOOLHOST_{tenant}_CALLS"),
            reports: format!("TOOLHOST_{tenant}_REPORTS"),
            claims: bucket("claims"),
            leases: bucket("leases"),
            blobs: format!("toolhost_{tenant}_blobs"),
            orders: format!("toolhost.{tenant}.orders"),
        }
    }

    /// Returns the queue of a route.
    pub(crate) fn calls(&self, route: &Route) -> Result<Queue, CarrierError> {
        let terms = route.terms.get(..TERMS).filter(|terms| {
            let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            terms.bytes().all(hex)
        });
        let Some(terms) = terms else {
            let refused = "the terms of a route are not a SHA-256 in lower-case hexadecimal";
            return Err(CarrierError::Refused(refused.to_owned()));
        };
        let (kind, name) = match &route.to {
            Destination::Any => ("any", None),
            Destination::Label(label) => ("label", Some(token(label, "label")?)),
        };
        let tenant = &self.tenant;
        let (mut subject, mut consumer) = (
            format!("toolhost.{tenant}.call.{terms}.{kind}"),
            format!("{terms}_{kind}"),
        );
        if let Some(name) = name {
            subject = format!("{subject}.{name}");
            consumer = format!("{consumer}_{name}");
        }
        Ok(Queue {
            stream: self.calls.clone(),
            subject,
            consumer,
        })
    }

    /// Returns the queue of reports to a host.
    pub(crate) fn reports(&self, origin: &str) -> Result<Queue, CarrierError> {
        let origin = token(origin, "host")?;
        Ok(Queue {
            stream: self.reports.clone(),
            subject: format!("toolhost.{}.report.{origin}", self.tenant),
            consumer: origin.to_owned(),
        })
    }

    /// Parses a receipt: a subject on which a delivery of the tenant's streams is acknowledged. Another process may send
    /// one, and a message to any other subject would be published in its name.
    pub(crate) fn receipt<'a>(&self, receipt: &'a str) -> Result<Receipt<'a>, CarrierError> {
        let refused = || CarrierError::Refused("the receipt is not of a delivery".to_owned());
        let parts = receipt.strip_prefix(ACK).ok_or_else(refused)?;
        let parts: Vec<&str> = parts.split('.').collect();
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if parts.iter().any(|part| !part.bytes().all(allowed)) {
            return Err(refused());
        }
        // `$JS.ACK` are two parts.
        let count = parts.len() + 2;
        let rest = if count == RECEIPT {
            parts.as_slice()
        } else if RECEIPT_WITH_DOMAIN.contains(&count) {
            parts.get(2..).unwrap_or_default()
        } else {
            return Err(refused());
        };
        let numbers = |parts: &[&str]| {
            let number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            parts.iter().take(5).all(number)
        };
        match rest {
            [stream, consumer, rest @ ..]
                if (*stream == self.calls || *stream == self.reports)
                    && !consumer.is_empty()
                    && numbers(rest) =>
            {
                Ok(Receipt { stream, consumer })
            }
            _ => Err(refused()),
        }
    }
}

impl Bucket {
    /// Returns the subject of a key. None is the one of all.
    pub(crate) fn subject(&self, key: Option<&str>) -> String {
        format!("$KV.{}.{}", self.name, key.unwrap_or(">"))
    }
}

/// Returns whether a text can be a tenant.
pub(crate) fn is_tenant(text: &str) -> bool {
    let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    (1..=TENANT_MAX).contains(&text.len()) && text.bytes().all(allowed)
}

/// Returns a text if it can be one token of a subject and a part of the name of a consumer.
pub(crate) fn token<'a>(text: &'a str, of: &str) -> Result<&'a str, CarrierError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if (1..=TOKEN_MAX).contains(&text.len()) && text.bytes().all(allowed) {
        Ok(text)
    } else {
        Err(CarrierError::Refused(format!(
            "the name of the {of} must have 1 to {TOKEN_MAX} letters, digits, '-' and '_'"
        )))
    }
}

#[cfg(test)]
mod tests;
