//! What each status of a downstream says of an attempt.

/// What a status says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    /// It happened.
    Success,
    /// It did not happen, and may be tried again.
    Retryable,
    /// It did not happen, if the answer also says when to ask again; else it is unknown.
    RetryableIfTold,
    /// It did not happen, and never will.
    Final,
    /// It may have happened.
    Unknown,
}

/// Which statuses say what. One status named by its number comes before its hundred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statuses {
    /// By their numbers, then by their hundreds.
    declared: Vec<(Pattern, Says)>,
    otherwise: Asked,
}

/// What the answers are to, which decides what an undeclared status says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    ToDo,
    WhetherDone,
}

/// `409`, or `4xx`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pattern {
    One(u16),
    Hundred(u16),
}

/// For an attempt: 2xx is a success; 429, and 503 with a Retry-After, can be tried again; the other 4xx are final; all else,
/// redirects too, is unknown, because the request may have been carried out.
impl Default for Statuses {
    fn default() -> Self {
        Self { declared: Vec::new(), otherwise: Asked::ToDo }
    }
}

impl Asked {
    const fn says(self, status: u16) -> Says {
        match (self, status) {
            (_, 200..=299) => Says::Success,
            (Self::ToDo, 429) => Says::Retryable,
            (Self::ToDo, 503) => Says::RetryableIfTold,
            (Self::ToDo, 400..=499) | (Self::WhetherDone, 404 | 410) => Says::Final,
            _ => Says::Unknown,
        }
    }
}

impl Statuses {
    /// For a question about an attempt: 2xx says that it happened, 404 and 410 that it has not, and all else says nothing.
    pub fn of_a_question() -> Self {
        Self { declared: Vec::new(), otherwise: Asked::WhetherDone }
    }

    /// These say something else than they do in `self`: each is a status, as in `409`, or a hundred of them, as in `4xx`.
    ///
    /// # Errors
    /// Names the one that is neither, or that stands in two lists.
    pub fn with(
        mut self,
        success: &[String],
        retryable: &[String],
        r#final: &[String],
        unknown: &[String],
    ) -> Result<Self, String> {
        for (list, says) in [
            (success, Says::Success),
            (retryable, Says::Retryable),
            (r#final, Says::Final),
            (unknown, Says::Unknown),
        ] {
            for written in list {
                let pattern = Pattern::parse(written)?;
                if self.declared.iter().any(|(known, _)| *known == pattern) {
                    return Err(format!("{written:?} stands there twice"));
                }
                self.declared.push((pattern, says));
            }
        }
        self.declared.sort_by_key(|(pattern, _)| matches!(pattern, Pattern::Hundred(_)));
        Ok(self)
    }

    pub(super) fn says(&self, status: u16) -> Says {
        let declared = self.declared.iter().find(|(pattern, _)| pattern.fits(status));
        declared.map_or_else(|| self.otherwise.says(status), |(_, says)| *says)
    }
}

impl Pattern {
    fn parse(written: &str) -> Result<Self, String> {
        let hundred = written.strip_suffix("xx").filter(|digit| digit.len() == 1);
        let number = |digits: &str| digits.parse::<u16>().ok();
        match (hundred.and_then(number), number(written)) {
            (Some(hundred @ 1..=5), _) => Ok(Self::Hundred(hundred)),
            (None, Some(status @ 100..=599)) => Ok(Self::One(status)),
            _ => Err(format!("expected a status as in \"409\" or \"4xx\", found {written:?}")),
        }
    }

    fn fits(self, status: u16) -> bool {
        match self {
            Self::One(one) => status == one,
            Self::Hundred(hundred) => status / 100 == hundred,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn without_a_word_the_defaults_hold() {
        let attempt = Statuses::default();
        for (status, says) in [
            (200, Says::Success),
            (201, Says::Success),
            (204, Says::Success),
            (302, Says::Unknown),
            (400, Says::Final),
            (404, Says::Final),
            (409, Says::Final),
            (429, Says::Retryable),
            (500, Says::Unknown),
            (502, Says::Unknown),
            (503, Says::RetryableIfTold),
            (504, Says::Unknown),
        ] {
            assert_eq!(attempt.says(status), says, "{status}");
        }
        let question = Statuses::of_a_question();
        for (status, says) in [
            (200, Says::Success),
            (404, Says::Final),
            (410, Says::Final),
            (403, Says::Unknown),
            (500, Says::Unknown),
        ] {
            assert_eq!(question.says(status), says, "{status}");
        }
    }

    #[test]
    fn one_status_comes_before_its_hundred() {
        let declared = Statuses::default()
            .with(&texts(&["409"]), &texts(&["5xx"]), &texts(&["501"]), &texts(&["404"]))
            .expect("they go together");
        for (status, says) in [
            (409, Says::Success),
            (500, Says::Retryable),
            (503, Says::Retryable),
            (501, Says::Final),
            (404, Says::Unknown),
            (400, Says::Final),
        ] {
            assert_eq!(declared.says(status), says, "{status}");
        }
    }

    #[test]
    fn what_is_no_status_is_named() {
        for wrong in ["", "99", "600", "6xx", "0xx", "2x", "xx", "2xx ", "-1", "40x", "200-299"] {
            let refusal = Statuses::default().with(&texts(&[wrong]), &[], &[], &[]).expect_err(wrong);
            assert!(refusal.contains(&format!("{wrong:?}")), "{refusal}");
        }
        let twice = Statuses::default().with(&texts(&["4xx"]), &[], &texts(&["4xx"]), &[]);
        assert_eq!(twice, Err("\"4xx\" stands there twice".into()));
    }
}
