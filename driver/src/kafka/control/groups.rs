//! Consumer groups: removing a static member that is gone.

use kafka_protocol::ResponseError;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::{LeaveGroupRequest, LeaveGroupResponse};
use kafka_protocol::protocol::StrBytes;

use super::client::{ControlClient, Target};
use super::error::{ControlError, Failure};

impl ControlClient {
    /// Removes the static member `instance` from a consumer group, whoever it is now (KIP-345).
    /// Nothing happens where the group does not have it. Repeated until it is answered: a second
    /// removal, or one that arrives late, costs the group a rebalance and nothing else.
    ///
    /// # Errors
    /// The group's coordinator refuses, or does not answer in time.
    pub async fn remove_member(&self, group: &str, instance: &str) -> Result<(), ControlError> {
        let text = |text: &str| StrBytes::from_string(text.to_owned());
        let member = MemberIdentity::default().with_group_instance_id(Some(text(instance)));
        let request = LeaveGroupRequest::default()
            .with_group_id(text(group).into())
            .with_members(vec![member]);
        self.read(Target::Group(group), &request, self.deadline(), |answer| {
            judge(&answer)
        })
        .await
        .map_err(|failure| self.error("remove a member of a group", failure))
    }
}

/// Who is not there any more is removed.
fn judge(answer: &LeaveGroupResponse) -> Result<(), Failure> {
    let members = answer.members.iter().map(|member| member.error_code);
    let is_gone = |code: &i16| {
        *code == 0
            || *code == ResponseError::UnknownMemberId.code()
            || *code == ResponseError::GroupIdNotFound.code()
    };
    match members
        .chain([answer.error_code])
        .find(|code| !is_gone(code))
    {
        None => Ok(()),
        Some(code) => Err(Failure::code(code)),
    }
}

#[cfg(test)]
mod tests {
    use kafka_protocol::messages::LeaveGroupResponse;
    use kafka_protocol::messages::leave_group_response::MemberResponse;

    use super::judge;

    #[test]
    fn only_a_member_that_stays_is_a_failure() {
        // Whole answer, member, whether the member is gone.
        for (whole, member, is_gone) in [
            (0, 0, true),
            (0, 25, true),
            (25, 0, true),
            (69, 0, true),
            (16, 0, false),
            (0, 82, false),
            (30, 0, false),
        ] {
            let answer = LeaveGroupResponse::default()
                .with_error_code(whole)
                .with_members(vec![MemberResponse::default().with_error_code(member)]);
            assert_eq!(judge(&answer).is_ok(), is_gone, "{whole} {member}");
        }
    }

    #[test]
    fn a_coordinator_that_moves_is_asked_again() {
        for (code, is_transient) in [(14, true), (15, true), (16, true), (30, false)] {
            let answer = LeaveGroupResponse::default().with_error_code(code);
            let failure = judge(&answer).expect_err("refused");
            assert_eq!(failure.is_transient(), is_transient, "{code}");
        }
    }
}
