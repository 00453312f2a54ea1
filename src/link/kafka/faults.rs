//! Which of the client library's errors mean what.

use crate::link::Trouble;
use rdkafka::error::RDKafkaErrorCode;

/// The kind of an error that a broker or the client gave for a record, a topic or a group.
#[must_use]
pub fn trouble(code: RDKafkaErrorCode) -> Trouble {
    use RDKafkaErrorCode as Code;
    match code {
        Code::MessageSizeTooLarge | Code::MessageBatchTooLarge | Code::InvalidRecord | Code::InvalidTimestamp => {
            Trouble::Poison
        }
        Code::Authentication
        | Code::SaslAuthenticationFailed
        | Code::UnsupportedSASLMechanism
        | Code::IllegalSASLState
        | Code::SecurityDisabled
        | Code::TopicAuthorizationFailed
        | Code::GroupAuthorizationFailed
        | Code::ClusterAuthorizationFailed
        | Code::TransactionalIdAuthorizationFailed
        | Code::UnknownTopic
        | Code::UnknownTopicOrPartition
        | Code::UnknownPartition
        | Code::InvalidTopic
        | Code::InvalidConfig
        | Code::InvalidGroupId
        | Code::InvalidSessionTimeout
        | Code::InconsistentGroupProtocol
        | Code::FencedInstanceId
        | Code::PolicyViolation
        | Code::UnsupportedFeature
        | Code::UnsupportedVersion
        | Code::UnsupportedCompressionType
        | Code::InvalidRequiredAcks => Trouble::Configuration,
        _ => Trouble::Transient,
    }
}

/// The same of an error of the client as a whole, with the reason it gives. A TLS handshake that a cut link
/// ended is weather; a certificate that does not hold is not.
#[must_use]
pub fn trouble_of_global(code: RDKafkaErrorCode, reason: &str) -> Trouble {
    let has = |words: &[&str]| words.iter().any(|word| reason.contains(word));
    match code {
        RDKafkaErrorCode::SSL if has(&["certificate", "wrong version number", "unknown ca", "alert"]) => {
            Trouble::Configuration
        }
        // A link that is cut during the log-in is told as a failed log-in.
        RDKafkaErrorCode::Authentication if has(&["isconnected", "Connection", "timed out", "Timed out"]) => {
            Trouble::Transient
        }
        // Poison is a record's; the client as a whole has none.
        code => match trouble(code) {
            Trouble::Poison => Trouble::Transient,
            trouble => trouble,
        },
    }
}
