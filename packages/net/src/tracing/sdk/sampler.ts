import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';

const parentBased = 'parentbased_';

/**
 * Creates the sampler named by OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG; default: parentbased_always_on. Throws
 * an error that identifies the invalid variable.
 */
export function samplerOf(env: NodeJS.ProcessEnv): Sampler {
  const name = env.OTEL_TRACES_SAMPLER?.trim() || 'parentbased_always_on';
  if (name.startsWith(parentBased)) {
    return new ParentBasedSampler({ root: rootSampler(name, name.slice(parentBased.length), env) });
  }
  return rootSampler(name, name, env);
}

function rootSampler(name: string, root: string, env: NodeJS.ProcessEnv): Sampler {
  if (root === 'always_on') return new AlwaysOnSampler();
  if (root === 'always_off') return new AlwaysOffSampler();
  if (root === 'traceidratio') return new TraceIdRatioBasedSampler(ratioOf(env));
  throw new Error(
    `OTEL_TRACES_SAMPLER: "${name}" is not always_on, always_off, traceidratio, or one of these after parentbased_`,
  );
}

function ratioOf({ OTEL_TRACES_SAMPLER_ARG: text = '' }: NodeJS.ProcessEnv): number {
  const ratio = text.trim() === '' ? 1 : Number(text);
  if (ratio >= 0 && ratio <= 1) return ratio;
  throw new Error(`OTEL_TRACES_SAMPLER_ARG: "${text}" is not a number from 0 to 1`);
}
