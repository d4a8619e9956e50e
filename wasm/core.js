// The glue of both targets: objects become text, and text becomes objects.

/** What was put in is not what it has to be, or the core is gone. Nothing was changed. */
export class CoreError extends Error {
  name = 'CoreError';
}

const KINDS = ['wait', 'action', 'event'];

/** The class `CoordinatorCore` of a module, by what the instance exports. */
export function bind(module) {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  let dead = null;

  const text = (at, length) => decoder.decode(new Uint8Array(module.memory.buffer, at, length));
  const told = () => text(module.text_out(), module.text_out_length());

  function put(value) {
    write(JSON.stringify(value));
  }

  function write(value) {
    const bytes = encoder.encode(value);
    const at = module.text_in(bytes.length);
    // Only now: making room may have moved the memory.
    new Uint8Array(module.memory.buffer, at, bytes.length).set(bytes);
  }

  /** A panic is a trap, after which nobody knows what state the module is in: the log tells. */
  function guarded(work) {
    if (dead) throw new CoreError(dead);
    try {
      return work();
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      const why = text(module.panic_text(), module.panic_text_length());
      dead = `gtc panicked: ${why || error.message}`;
      throw new CoreError(dead, { cause: error });
    }
  }

  function must(worked) {
    if (!worked) throw new CoreError(told());
  }

  return class CoordinatorCore {
    #number;

    constructor(config, log, now) {
      this.#number = guarded(() => {
        for (const digits of log) {
          write(digits);
          must(module.log_record());
        }
        put(config);
        const number = module.core_new(now.monotonic_us, now.unix_ms);
        must(number);
        return number;
      });
    }

    handleRequest(request, now) {
      return guarded(() => {
        put(request);
        must(module.core_request(this.#number, now.monotonic_us, now.unix_ms));
        return JSON.parse(told());
      });
    }

    handleResponse(id, response, now) {
      guarded(() => {
        put(response);
        must(module.core_response(this.#number, id, now.monotonic_us, now.unix_ms));
      });
    }

    handleTimeout(now) {
      guarded(() => must(module.core_timeout(this.#number, now.monotonic_us, now.unix_ms)));
    }

    pollOutput() {
      return guarded(() => {
        const kind = KINDS[module.core_poll(this.#number)];
        must(kind);
        return { kind, [kind]: JSON.parse(told()) };
      });
    }

    free() {
      if (!dead) module.core_free(this.#number);
    }
  };
}
