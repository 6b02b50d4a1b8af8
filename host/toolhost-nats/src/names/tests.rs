use toolhost::fleet::{Destination, Route};

use super::{Names, is_tenant};

#[test]
fn a_tenant_is_one_token() {
    for tenant in ["a", "0", "my-tenant-2", &"a".repeat(32)] {
        assert!(is_tenant(tenant), "{tenant}");
    }
    for tenant in ["", "A", "a.b", "a_b", "*", ">", "a b", "ä", &"a".repeat(33)] {
        assert!(!is_tenant(tenant), "{tenant}");
    }
}

#[test]
fn a_route_has_a_subject_and_a_consumer() {
    let names = Names::new("t");
    let terms = "0123456789abcdef".repeat(4);
    let check = |to: Destination, subject: &str, consumer: &str| {
        let terms = terms.clone();
        let queue = names.calls(&Route { terms, to }).unwrap();
        let begin = "0123456789abcdef0123456789abcdef";
        assert_eq!(queue.subject, format!("toolhost.t.call.{begin}.{subject}"));
        assert_eq!(queue.consumer, format!("{begin}_{consumer}"));
        assert_eq!(queue.stream, "TOOLHOST_t_CALLS");
    };
    check(Destination::Any, "any", "any");
    check(
        Destination::Label("a-b".to_owned()),
        "label.a-b",
        "label_a-b",
    );
    for terms in ["", "0123", &"x".repeat(64), &"ABCDEF01".repeat(8)] {
        let (terms, to) = (terms.to_owned(), Destination::Any);
        names.calls(&Route { terms, to }).unwrap_err();
    }
}

#[test]
fn a_receipt_acknowledges_a_delivery_of_the_tenant() {
    let names = Names::new("t");
    for receipt in [
        "$JS.ACK.TOOLHOST_t_CALLS.c_any.1.22.333.1700000000.0",
        "$JS.ACK.TOOLHOST_t_REPORTS.host1.1.22.333.1700000000.0",
        "$JS.ACK._.account.TOOLHOST_t_CALLS.c_any.1.22.333.1700000000.0",
        "$JS.ACK.hub.account.TOOLHOST_t_CALLS.c_any.1.22.333.1700000000.0.x9",
    ] {
        names.receipt(receipt).unwrap();
    }
    for receipt in [
        "",
        "$JS.ACK",
        "$JS.API.STREAM.DELETE.TOOLHOST_t_CALLS",
        "$JS.ACK.TOOLHOST_u_CALLS.c_any.1.22.333.1700000000.0",
        "$JS.ACK.KV_toolhost_t_claims.c_any.1.22.333.1700000000.0",
        "$JS.ACK.TOOLHOST_t_CALLS.c_any.1.22.333.1700000000",
        "$JS.ACK.TOOLHOST_t_CALLS.c_any.1.22.333.1700000000.x",
        "$JS.ACK.TOOLHOST_t_CALLS.c_any.1.22.333.1700000000.",
        "$JS.ACK.TOOLHOST_t_CALLS..1.22.333.1700000000.0",
        "$JS.ACK.TOOLHOST_t_CALLS.*.1.22.333.1700000000.0",
        "$JS.ACK.TOOLHOST_t_CALLS.c any.1.22.333.1700000000.0",
        "$JS.ACK.TOOLHOST_t_CALLS.c\r\n.1.22.333.1700000000.0",
        "$JS.ACK._.account.TOOLHOST_t_CALLS.c_any.1.22.333.1700000000.0.x.y",
    ] {
        names.receipt(receipt).unwrap_err();
    }
}
