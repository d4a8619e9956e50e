//! Where a configuration comes from, and what verbs are asked for by.
#![allow(unsafe_code, reason = "structures of callers are read here")]

use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;
use std::time::Duration;

use gtc::check::CheckOptions;
use gtc::facade::Source;
use gtc::{BatchLimits, ConsumerOptions, TransactionOptions};

use crate::border::{Answer, bytes, items, optional_text, text, texts};
use crate::error::Failure;
use crate::record::gtc_bytes;
use crate::words;

/// One value of a configuration.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_setting {
    /// The key with its tables, such as `participants.eu.bootstrap.servers`.
    pub key: *const c_char,
    /// The value; numbers and truth values as in a file.
    pub value: *const c_char,
}

/// Where a configuration comes from: a file, text or values. Made by `gtc_source_file`,
/// `gtc_source_toml` or `gtc_source_values`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_source {
    /// The path of a TOML file, or NULL.
    pub file: *const c_char,
    /// TOML text, or NULL.
    pub toml: *const c_char,
    /// Keys and values, or NULL.
    pub settings: *const gtc_setting,
    /// How many there are.
    pub settings_length: usize,
}

const NOTHING: gtc_source = gtc_source {
    file: ptr::null(),
    toml: ptr::null(),
    settings: ptr::null(),
    settings_length: 0,
};

/// A configuration that is a TOML file. In it `${NAME}` stands for an environment variable.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_source_file(path: *const c_char) -> gtc_source {
    gtc_source {
        file: path,
        ..NOTHING
    }
}

/// A configuration that is TOML text.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_source_toml(toml: *const c_char) -> gtc_source {
    gtc_source { toml, ..NOTHING }
}

/// A configuration of keys and values, each standing for itself.
#[unsafe(no_mangle)]
pub extern "C" fn gtc_source_values(settings: *const gtc_setting, length: usize) -> gtc_source {
    gtc_source {
        settings,
        settings_length: length,
        ..NOTHING
    }
}

/// # Safety
/// What it points to is readable.
pub(crate) unsafe fn source(source: &gtc_source) -> Answer<Source> {
    let given = (
        source.file.is_null(),
        source.toml.is_null(),
        source.settings.is_null(),
    );
    match given {
        (false, true, true) => {
            // SAFETY: as the caller promises. A path need not be UTF-8.
            let path = unsafe { CStr::from_ptr(source.file) };
            Ok(Source::File(PathBuf::from(OsStr::from_bytes(
                path.to_bytes(),
            ))))
        }
        // SAFETY: as the caller promises.
        (true, false, true) => unsafe { Ok(Source::Toml(text(source.toml, "toml")?.to_owned())) },
        // SAFETY: as the caller promises.
        (true, true, false) => unsafe { values(source) },
        (true, true, true) => Err(Failure::null("source")),
        _ => Err(Failure::Argument("source", "is more than one thing")),
    }
}

/// # Safety
/// The settings are readable.
unsafe fn values(source: &gtc_source) -> Answer<Source> {
    // SAFETY: as the caller promises.
    let settings = unsafe { items(source.settings, source.settings_length, "settings") }?;
    let values = settings.iter().map(|setting| {
        // SAFETY: as the caller promises.
        let (key, value) = unsafe { (text(setting.key, "key"), text(setting.value, "value")) };
        Ok((key?.to_owned(), value?.to_owned()))
    });
    values.collect::<Answer<_>>().map(Source::Values)
}

/// What a transaction begins with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_transaction_options {
    /// A key of the application's; its data is NULL where there is none.
    pub key: gtc_bytes,
    /// After how many milliseconds it aborts by itself, if it was not asked to commit; 0: never.
    pub timeout_ms: u64,
}

/// NULL means the defaults.
///
/// # Safety
/// It is NULL, or readable with what it points to.
pub(crate) unsafe fn transaction_options(
    options: *const gtc_transaction_options,
) -> Answer<TransactionOptions> {
    let mut made = TransactionOptions::new();
    // SAFETY: as the caller promises.
    if let Some(options) = unsafe { options.as_ref() } {
        // SAFETY: as the caller promises.
        made.key = unsafe { bytes(&options.key, "key") }?.map(Into::into);
        made.timeout = millis(options.timeout_ms);
    }
    Ok(made)
}

/// Zero means that nothing was said.
pub(crate) fn millis(value: u64) -> Option<Duration> {
    (value > 0).then(|| Duration::from_millis(value))
}

/// What a consumer is asked for by. Zero and NULL are the defaults, but for the group and the topics.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_consumer_options {
    /// The consumer group.
    pub group: *const c_char,
    /// Topic names, or patterns that begin with `^`.
    pub topics: *const *const c_char,
    /// How many there are.
    pub topics_length: usize,
    /// Its name as a static member of the group, in the place of whoever has that name, or NULL.
    pub instance: *const c_char,
    /// What happens where the cluster does not have a position: a `gtc_offset_reset`.
    pub reset: u32,
    /// A batch is full at so many records; 0: the default.
    pub records_max: usize,
    /// A batch is full at so many bytes of keys, values and headers; 0: the default.
    pub bytes_max: usize,
    /// How many milliseconds the first record of a batch waits for company; 0: the default.
    pub linger_ms: u64,
}

/// # Safety
/// The options are readable with what they point to.
pub(crate) unsafe fn consumer_options(options: &gtc_consumer_options) -> Answer<ConsumerOptions> {
    // SAFETY: as the caller promises.
    let (group, topics, instance) = unsafe {
        (
            text(options.group, "group")?,
            texts(options.topics, options.topics_length, "topics")?,
            optional_text(options.instance, "instance")?,
        )
    };
    let default = BatchLimits::default();
    let or = |value: usize, default| if value == 0 { default } else { value };
    let mut made = ConsumerOptions::new(group, topics);
    made.reset = words::reset(options.reset)?;
    made.instance = instance.map(str::to_owned);
    made.limits = BatchLimits {
        records_max: or(options.records_max, default.records_max),
        bytes_max: or(options.bytes_max, default.bytes_max),
        linger: millis(options.linger_ms).unwrap_or(default.linger),
    };
    Ok(made)
}

/// What is checked. Zero and NULL are the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct gtc_check_options {
    /// Names of participants; none means all.
    pub participants: *const *const c_char,
    /// How many there are.
    pub participants_length: usize,
    /// A consumer group that has to be readable; NULL is that of replication.
    pub group: *const c_char,
}

/// NULL means the defaults.
///
/// # Safety
/// It is NULL, or readable with what it points to.
pub(crate) unsafe fn check_options(options: *const gtc_check_options) -> Answer<CheckOptions> {
    // SAFETY: as the caller promises.
    let Some(options) = (unsafe { options.as_ref() }) else {
        return Ok(CheckOptions::new());
    };
    // SAFETY: as the caller promises.
    let (participants, group) = unsafe {
        (
            texts(
                options.participants,
                options.participants_length,
                "participants",
            )?,
            optional_text(options.group, "group")?,
        )
    };
    let made = CheckOptions::new().participants(participants);
    Ok(match group {
        Some(group) => made.group(group),
        None => made,
    })
}
