// jest-environment-node whose `instanceof` also accepts built-ins that Node's own modules pass into tests. The global
// `runningTest` gives hooks the running test, with its errors so far.
const { TestEnvironment } = require('jest-environment-node');

const builtIns = ['Error', 'TypeError', 'RangeError', 'SyntaxError', 'Map', 'Set', 'Date', 'Promise', 'RegExp'];
builtIns.push('Array', 'Object', 'Function', 'Uint8Array', 'ArrayBuffer');

module.exports = class extends TestEnvironment {
  async setup() {
    await super.setup();
    for (const name of builtIns) {
      const inner = this.global[name];
      const outer = globalThis[name];
      if (typeof inner !== 'function' || inner === outer) continue;
      const base = Function.prototype[Symbol.hasInstance];
      Object.defineProperty(inner, Symbol.hasInstance, {
        configurable: true,
        value(candidate) {
          return base.call(this, candidate) || (this === inner && base.call(outer, candidate));
        },
      });
    }
  }

  handleTestEvent({ name, test }) {
    if (name === 'test_start') this.global.runningTest = test;
  }
};
