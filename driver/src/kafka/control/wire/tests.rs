use kafka_protocol::messages::{
    api_versions_response, describe_configs_response, describe_transactions_response,
    list_transactions_response, metadata_response,
};
use proptest::prelude::*;

use super::*;

/// Every type that is decoded from a broker, with every version of it.
fn decode_all(frame: &Bytes) {
    fn one<C: Call>(frame: &Bytes) {
        for version in C::VERSIONS.min..=C::VERSIONS.max {
            // Only that it returns matters here: no panic, no huge reservation.
            let _ = decode_response::<C::Response>(frame.clone(), version);
        }
    }
    one::<ApiVersionsRequest>(frame);
    one::<SaslAuthenticateRequest>(frame);
    one::<MetadataRequest>(frame);
    one::<FindCoordinatorRequest>(frame);
    one::<EndTxnRequest>(frame);
    one::<InitProducerIdRequest>(frame);
    one::<DescribeTransactionsRequest>(frame);
    one::<ListTransactionsRequest>(frame);
    one::<DescribeConfigsRequest>(frame);
    one::<ListOffsetsRequest>(frame);
}

fn frame_of<R: Encodable + HeaderVersion>(response: &R, version: i16) -> Bytes {
    let mut frame = BytesMut::new();
    ResponseHeader::default()
        .encode(&mut frame, R::header_version(version))
        .expect("encodes");
    response.encode(&mut frame, version).expect("encodes");
    frame.freeze()
}

fn text(value: &'static str) -> StrBytes {
    StrBytes::from_static_str(value)
}

#[test]
fn real_answers_pass_the_guard() {
    let versions = ApiVersionsResponse::default()
        .with_api_keys(vec![api_versions_response::ApiVersion::default(); 300])
        .with_finalized_features_epoch(7)
        .with_zk_migration_ready(true);
    let frame = frame_of(&versions, 3);
    assert_eq!(
        decode_response::<ApiVersionsResponse>(frame, 3).expect("decodes"),
        versions
    );

    let partition = metadata_response::MetadataResponsePartition::default()
        .with_replica_nodes(vec![1.into(), 2.into()]);
    let topic = metadata_response::MetadataResponseTopic::default()
        .with_is_internal(true)
        .with_name(Some(text("orders").into()))
        .with_partitions(vec![partition; 200]);
    let metadata = MetadataResponse::default().with_topics(vec![topic; 3]);
    let frame = frame_of(&metadata, 12);
    assert_eq!(
        decode_response::<MetadataResponse>(frame, 12).expect("decodes"),
        metadata
    );

    let transaction = list_transactions_response::TransactionState::default()
        .with_transactional_id(text("gtc.a.b").into());
    let listing =
        ListTransactionsResponse::default().with_transaction_states(vec![transaction; 20_000]);
    let frame = frame_of(&listing, 1);
    assert_eq!(
        decode_response::<ListTransactionsResponse>(frame, 1).expect("decodes"),
        listing
    );

    let entry = describe_configs_response::DescribeConfigsResourceResult::default()
        .with_config_source(-1)
        .with_is_sensitive(true);
    let result =
        describe_configs_response::DescribeConfigsResult::default().with_configs(vec![entry; 130]);
    let configs = DescribeConfigsResponse::default().with_results(vec![result]);
    let frame = frame_of(&configs, 4);
    assert_eq!(
        decode_response::<DescribeConfigsResponse>(frame, 4).expect("decodes"),
        configs
    );
}

#[test]
fn trailing_bytes_are_refused() {
    let mut frame = BytesMut::from(&frame_of(&EndTxnResponse::default(), 5)[..]);
    frame.put_u8(0);
    assert!(decode_response::<EndTxnResponse>(frame.freeze(), 5).is_err());
}

/// Four thousand million elements announced in a few bytes, at every place where a count can
/// stand. Without the guard this asks the system for more than a hundred gigabytes.
#[test]
fn huge_counts_are_refused_everywhere() {
    for prefix in 0..64 {
        for filler in [0x00, 0x01, 0x80, 0xff] {
            let mut bytes = vec![filler; prefix];
            bytes.extend([0xff, 0xff, 0xff, 0xff, 0x0f]);
            bytes.extend([0; 40]);
            decode_all(&Bytes::from(bytes));
        }
    }
}

#[test]
fn a_false_boolean_does_not_hide_a_count() {
    let topic = metadata_response::MetadataResponseTopic::default().with_is_internal(true);
    let metadata = MetadataResponse::default().with_topics(vec![topic]);
    let honest = frame_of(&metadata, 12);
    // The boolean is the only byte 1 with the partition count of an empty array, also 1, after it.
    let at = honest
        .windows(2)
        .rposition(|pair| pair == [1, 1])
        .expect("boolean and count");
    for boolean in [0x80, 0xff] {
        let mut bytes = honest[..at].to_vec();
        bytes.extend([boolean, 0x80, 0x80, 0x80, 0x80, 0x0f]);
        bytes.extend(&honest[at + 2..]);
        assert!(decode_response::<MetadataResponse>(bytes.into(), 12).is_err());
    }
}

#[test]
fn a_count_may_not_exceed_the_rest_of_the_frame() {
    let state = describe_transactions_response::TransactionState::default();
    let response = DescribeTransactionsResponse::default().with_transaction_states(vec![state]);
    let mut bytes = frame_of(&response, 0).to_vec();
    // Header (correlation id, tags) and throttle time come before the count.
    bytes.splice(9..10, [0x80, 0x80, 0x08]);
    assert!(decode_response::<DescribeTransactionsResponse>(bytes.into(), 0).is_err());
}

#[tokio::test]
async fn frames_are_read_whole_and_bounded() {
    let mut reader = FrameReader::default();
    let mut stream: &[u8] = &[0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0, 4, 6, 7, 8, 9, 0, 0];
    assert_eq!(
        reader.read(&mut stream).await.expect("frame")[..],
        [1, 2, 3, 4, 5]
    );
    assert_eq!(
        reader.read(&mut stream).await.expect("frame")[..],
        [6, 7, 8, 9]
    );
    assert!(
        reader.read(&mut stream).await.is_err(),
        "a cut frame is an error"
    );
    for length in [-1_i32, 0, 3, i32::MAX, 1 + (16 << 20)] {
        let bytes = length.to_be_bytes();
        let error = FrameReader::default()
            .read(&mut &bytes[..])
            .await
            .expect_err("refused");
        assert!(error.to_string().contains("refused"), "{error}");
    }
}

proptest! {
    #[test]
    fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        decode_all(&Bytes::from(bytes));
    }

    #[test]
    fn changed_bytes_never_panic(at in 0_usize..200, value: u8, cut in 0_usize..400) {
        let topic = metadata_response::MetadataResponseTopic::default()
            .with_partitions(vec![metadata_response::MetadataResponsePartition::default(); 5]);
        let metadata = MetadataResponse::default().with_topics(vec![topic; 2]);
        let mut bytes = frame_of(&metadata, 12).to_vec();
        let length = bytes.len();
        bytes[at % length] = value;
        bytes.truncate(cut.max(1));
        decode_all(&Bytes::from(bytes));
    }
}
