//! What goes wrong becomes an exception of the package; nothing else crosses.

use std::any::Any;

use gtc::{Error, ErrorKind};
use jni::errors::{Error as JniError, ErrorPolicy};
use jni::objects::{JObject, JString, JValue};
use jni::{Env, jni_sig, jni_str};

/// Why a native method throws.
pub(crate) enum Failure {
    /// An error of the driver.
    Driver(Error),
    /// The JVM refused something; an exception of its own may be pending.
    Jvm(JniError),
    /// Nothing is known under the number: it was closed, or its number was given back.
    Gone,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Driver(error)
    }
}

impl From<JniError> for Failure {
    fn from(error: JniError) -> Self {
        Self::Jvm(error)
    }
}

/// Throws, and gives the JVM a value that it ignores.
pub(crate) struct Raise;

impl<T: Default> ErrorPolicy<T, Failure> for Raise {
    type Captures<'unowned_env_local: 'native_method, 'native_method> = ();

    fn on_error<'unowned_env_local: 'native_method, 'native_method>(
        env: &mut Env<'unowned_env_local>,
        _: &mut Self::Captures<'unowned_env_local, 'native_method>,
        failure: Failure,
    ) -> Result<T, JniError> {
        if env.exception_check() {
            return Ok(T::default());
        }
        match failure {
            Failure::Driver(error) => raise(env, &Thrown::of(&error)),
            Failure::Jvm(JniError::NullPtr(_)) => {
                let problem = "null was given where a value is needed";
                raise(env, &Thrown::new(ErrorKind::Config, problem))
            }
            Failure::Jvm(error) => {
                raise(env, &Thrown::new(ErrorKind::Internal, &error.to_string()))
            }
            Failure::Gone => raise(env, &Thrown::new(ErrorKind::Closed, "it is closed")),
        }
    }

    fn on_panic<'unowned_env_local: 'native_method, 'native_method>(
        env: &mut Env<'unowned_env_local>,
        _: &mut Self::Captures<'unowned_env_local, 'native_method>,
        payload: Box<dyn Any + Send + 'static>,
    ) -> Result<T, JniError> {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let problem = format!("gtc panicked: {}", text.unwrap_or("no message"));
        raise(env, &Thrown::new(ErrorKind::Internal, &problem))
    }
}

/// What an exception is made of.
struct Thrown {
    kind: ErrorKind,
    retry: &'static str,
    /// Message, operation, participant, transaction, problem and remedy.
    texts: [Option<String>; 6],
}

impl Thrown {
    fn of(error: &Error) -> Self {
        Self {
            kind: error.kind(),
            retry: error.retry().as_str(),
            texts: [
                Some(error.to_string()),
                Some(error.operation().to_owned()),
                error.participant().map(str::to_owned),
                error.transaction().map(|id| id.to_string()),
                Some(error.problem().to_owned()),
                Some(error.remedy().to_owned()),
            ],
        }
    }

    /// One that the façade could not tell.
    fn new(kind: ErrorKind, problem: &str) -> Self {
        let remedy = kind.remedy();
        let message = format!("{kind}: {problem}; remedy: {remedy}");
        let texts = [
            Some(message),
            None,
            None,
            None,
            Some(problem.to_owned()),
            Some(remedy.to_owned()),
        ];
        Self {
            kind,
            retry: kind.retry().as_str(),
            texts,
        }
    }
}

/// Has Java throw: it knows the class of each kind.
fn raise<T: Default>(env: &mut Env<'_>, thrown: &Thrown) -> Result<T, JniError> {
    let retry = JString::from_str(env, thrown.retry)?;
    let texts: Vec<JObject<'_>> = thrown
        .texts
        .iter()
        .map(|text| match text {
            Some(text) => JString::from_str(env, text).map(JObject::from),
            None => Ok(JObject::null()),
        })
        .collect::<Result<_, _>>()?;
    let mut arguments = vec![
        JValue::Int(i32::from(thrown.kind.code())),
        JValue::Object(&retry),
    ];
    arguments.extend(texts.iter().map(JValue::Object));
    let thrown = env.call_static_method(
        jni_str!("gtc/Native"),
        jni_str!("raise"),
        jni_sig!((
            code: jint,
            retry: JString,
            message: JString,
            operation: JString,
            participant: JString,
            transaction: JString,
            problem: JString,
            remedy: JString
        )),
        &arguments,
    );
    match thrown {
        // It throws, so this is how it ends.
        Ok(_) | Err(JniError::JavaException) => Ok(T::default()),
        Err(error) => Err(error),
    }
}

/// Exports functions as the native methods of `gtc.Native`, under the names that Java gives them.
/// Their signatures are part of the exported names, so that the JVM refuses others.
macro_rules! natives {
    ($(fn $name:ident $arguments:tt $(-> $result:tt)?;)*) => {
        $(
            const _: jni::NativeMethod = {
                use $crate::border::Raise;
                jni::native_method! {
                    java_type = "gtc.Native",
                    error_policy = Raise,
                    static extern fn $name $arguments $(-> $result)?
                }
            };
        )*
    };
}
pub(crate) use natives;
