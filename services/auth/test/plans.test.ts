import { startAuth, type TestAuth } from './support.ts';

describe('plans and limits', () => {
  let auth: TestAuth;
  beforeAll(async () => {
    auth = await startAuth();
  });
  afterAll(() => auth?.stop());

  const limitsOf = async (value: string) => {
    const limits = (await auth.verify(value))?.limits;
    return [limits?.rateLimitRequests, limits?.rateLimitWindowSeconds, limits?.monthlyQuota];
  };

  test('a plan is made, replaced and listed by name; 0 and unset are kept apart', async () => {
    const big = { name: 'big', rateLimitRequests: 0n, rateLimitWindowSeconds: 10n, monthlyQuota: 10n ** 12n };
    const { plan } = await auth.plans.setPlan({ plan: big });
    expect(plan).toMatchObject(big);
    await auth.plans.setPlan({ plan: { name: 'a-plan_1', monthlyQuota: 5n } });
    await auth.plans.setPlan({ plan: { name: 'a-plan_1', monthlyQuota: 6n } });
    const { plans } = await auth.plans.listPlans({});
    expect(plans).toMatchObject([{ name: 'a-plan_1', monthlyQuota: 6n }, big]);
    expect(plans[0]?.rateLimitRequests).toBeUndefined();
  });

  test('a verified key comes with its own limit, else that of its plan; what neither says is left to the settings', async () => {
    const own = await auth.newKey({ rateLimitRequests: 7n });
    const { workspaceId } = own;
    const other = await auth.newKey({ workspaceId });
    expect(await limitsOf(own.value)).toEqual([7n, undefined, undefined]);
    expect(await limitsOf(other.value)).toEqual([undefined, undefined, undefined]);

    await auth.plans.setPlan({ plan: { name: 'small', rateLimitRequests: 100n, rateLimitWindowSeconds: 30n } });
    const { workspace } = await auth.workspaces.setWorkspacePlan({ workspaceId, plan: 'small' });
    expect(workspace).toMatchObject({ id: workspaceId, plan: 'small' });
    expect(await limitsOf(own.value)).toEqual([7n, 30n, undefined]);
    expect(await limitsOf(other.value)).toEqual([100n, 30n, undefined]);
    const { workspaces } = await auth.workspaces.listWorkspaces({});
    expect(workspaces.find(({ id }) => id === workspaceId)?.plan).toBe('small');

    await auth.plans.setPlan({ plan: { name: 'small', rateLimitRequests: 0n, monthlyQuota: 9n } });
    expect(await limitsOf(other.value)).toEqual([0n, undefined, 9n]);
    await auth.keys.updateKey({ workspaceId, id: own.id, rateLimit: { requests: 0n } });
    expect(await limitsOf(own.value)).toEqual([0n, undefined, 9n]);

    await auth.workspaces.setWorkspacePlan({ workspaceId, plan: '' });
    expect(await limitsOf(other.value)).toEqual([undefined, undefined, undefined]);
  });

  test('404 for a plan or a workspace that does not exist', async () => {
    const workspaceId = await auth.newWorkspace();
    await auth.plans.setPlan({ plan: { name: 'there' } });
    for (const asked of [
      { workspaceId, plan: 'none' },
      { workspaceId: 'ws_none', plan: 'there' },
      { workspaceId: 'ws_none', plan: '' },
    ]) {
      await expect(auth.workspaces.setWorkspacePlan(asked)).rejects.toMatchObject({ code: 'not_found' });
    }
  });

  test.each([
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(41) }, 'name'],
    [{ name: 'Upper' }, 'name'],
    [{ name: 'a b' }, 'name'],
    [{ rateLimitRequests: -1n }, 'rate_limit_requests'],
    [{ rateLimitRequests: 10n ** 12n + 1n }, 'rate_limit_requests'],
    [{ rateLimitWindowSeconds: 0n }, 'rate_limit_window_seconds'],
    [{ rateLimitWindowSeconds: 86_401n }, 'rate_limit_window_seconds'],
    [{ monthlyQuota: -1n }, 'monthly_quota'],
    [{ monthlyQuota: 2n ** 63n - 1n }, 'monthly_quota'],
  ])('a plan with %p is refused', async (more, field) => {
    await expect(auth.plans.setPlan({ plan: { name: 'p', ...more } })).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field }],
    });
  });

  test('no plan at all is refused', async () => {
    await expect(auth.plans.setPlan({})).rejects.toMatchObject({ details: [{ field: 'plan' }] });
  });

  test.each([-1n, 10n ** 12n + 1n])('a key with a limit of %d requests is refused', async (rateLimitRequests) => {
    await expect(auth.newKey({ rateLimitRequests })).rejects.toMatchObject({
      details: [{ field: 'rate_limit_requests' }],
    });
  });
});
