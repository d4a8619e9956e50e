//! Origin headers: where a record has been, so that it never returns there.
//!
//! Each hop appends one header with the cluster.id of the cluster that it read from. A record is
//! not sent to a cluster that its headers already name, which ends loops in pairs and in rings
//! alike.

use bytes::Bytes;
use gtc::kafka::record::Header;

/// The name of the header; its value is a cluster.id.
pub(crate) const ORIGIN_HEADER: &str = "gtc.origin";

/// Whether a record with these headers has been in the cluster `cluster_id`.
pub(crate) fn has_been_in(headers: &[Header], cluster_id: &str) -> bool {
    headers.iter().any(|(name, value)| {
        name == ORIGIN_HEADER && value.as_deref() == Some(cluster_id.as_bytes())
    })
}

/// The header of the hop out of `cluster_id`, which goes behind the record's own.
pub(crate) fn hop(cluster_id: &str) -> Header {
    (
        ORIGIN_HEADER.to_owned(),
        Some(Bytes::copy_from_slice(cluster_id.as_bytes())),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_never_returns_to_where_it_was() {
        for (hops, destination, returns) in [
            (&[][..], "A", false),
            (&["A"], "A", true),
            (&["A"], "B", false),
            (&["A", "B"], "A", true),
            (&["A", "B"], "C", false),
            (&["A", "B", "C"], "A", true),
            (&["A", "B", "C"], "B", true),
        ] {
            let headers: Vec<Header> = hops.iter().map(|cluster| hop(cluster)).collect();
            assert_eq!(has_been_in(&headers, destination), returns, "{hops:?}");
        }
    }

    #[test]
    fn only_a_whole_cluster_id_under_the_right_name_counts() {
        let headers = [
            ("origin".to_owned(), Some(Bytes::from("A"))),
            (ORIGIN_HEADER.to_owned(), None),
            (ORIGIN_HEADER.to_owned(), Some(Bytes::from("AB"))),
        ];
        assert!(!has_been_in(&headers, "A"));
    }
}
