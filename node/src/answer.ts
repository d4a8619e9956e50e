import { failed } from './failure';
import { native, type Answer, type Failure, type Now, type Pending } from './native';

/** Lets a wait be given up. */
export interface Abortable {
  /** Gives up what can be given up without harm, such as a wait for records. A commit or an abort goes on. */
  readonly signal?: AbortSignal | undefined;
}

/** The value of a verb that answers at once. */
export function now<T>(answer: Now<T>): T {
  if (answer instanceof native.Failure) throw failed(answer as Failure);
  return answer as T;
}

/** The value of a verb that may take a while. */
export async function settled<T>(verb: () => Answer<T>, signal?: AbortSignal): Promise<T> {
  signal?.throwIfAborted();
  const answer = verb();
  if (!(answer instanceof native.Pending)) return now(answer as Now<T>);
  const pending = answer as Pending<T>;
  return now(await (signal ? abortable(pending, signal) : pending.promise()));
}

function abortable<T>(pending: Pending<T>, signal: AbortSignal): Promise<Now<T>> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      pending.cancel();
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    const done = () => signal.removeEventListener('abort', onAbort);
    pending.promise().finally(done).then(resolve, reject);
  });
}
