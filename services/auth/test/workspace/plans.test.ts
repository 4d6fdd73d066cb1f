import { perSuite } from '@rms/testkit';
import { startAuth } from '../support.ts';

describe('Plans and limits', () => {
  const auth = perSuite(startAuth);

  const limitsOf = async (value: string) => {
    const limits = (await auth.verify(value))?.limits;
    return [
      limits?.keyRateLimitRequests,
      limits?.rateLimitRequests,
      limits?.rateLimitWindowSeconds,
      limits?.monthlyQuota,
    ];
  };

  test('a plan is created, replaced and listed by name; 0 and unset are different', async () => {
    const requests = { rateLimitRequests: 0n, workspaceRateLimitRequests: 40n, monthlyQuota: 10n ** 12n };
    const big = { name: 'big', ...requests, rateLimitWindowSeconds: 10n, maxKeys: 3n, maxWebhooks: 0n };
    const { plan } = await auth.plans.setPlan({ plan: big });
    expect(plan).toMatchObject(big);
    await auth.plans.setPlan({ plan: { name: 'a-plan_1', monthlyQuota: 5n } });
    await auth.plans.setPlan({ plan: { name: 'a-plan_1', monthlyQuota: 6n } });
    const { plans } = await auth.plans.listPlans({});
    expect(plans).toMatchObject([{ name: 'a-plan_1', monthlyQuota: 6n }, big]);
    expect(plans[0]?.rateLimitRequests).toBeUndefined();
  });

  test('a plan is deleted unless a workspace has it', async () => {
    const workspaceId = await auth.newWorkspace();
    await auth.plans.setPlan({ plan: { name: 'old' } });
    await auth.workspaces.setWorkspacePlan({ workspaceId, plan: 'old' });
    const removed = () => auth.plans.deletePlan({ name: 'old' });
    await expect(removed()).rejects.toMatchObject({
      code: 'conflict',
      message: '1 workspace has the plan "old". Set another plan first.',
    });
    await auth.workspaces.setWorkspacePlan({ workspaceId, plan: '' });
    await removed();
    await expect(removed()).rejects.toMatchObject({ code: 'not_found' });
    expect((await auth.plans.listPlans({})).plans.map(({ name }) => name)).not.toContain('old');
  });

  test('a verified key has its own limit and the limits of its plan; unset limits come from the settings', async () => {
    const own = await auth.newKey({ rateLimitRequests: 7n });
    const { workspaceId } = own;
    const other = await auth.newKey({ workspaceId });
    expect(await limitsOf(own.value)).toEqual([7n, undefined, undefined, undefined]);
    expect(await limitsOf(other.value)).toEqual([undefined, undefined, undefined, undefined]);

    await auth.plans.setPlan({ plan: { name: 'small', rateLimitRequests: 100n, rateLimitWindowSeconds: 30n } });
    const { workspace } = await auth.workspaces.setWorkspacePlan({ workspaceId, plan: 'small' });
    expect(workspace).toMatchObject({ id: workspaceId, plan: 'small' });
    expect(await limitsOf(own.value)).toEqual([7n, 100n, 30n, undefined]);
    expect(await limitsOf(other.value)).toEqual([undefined, 100n, 30n, undefined]);
    const { workspaces } = await auth.workspaces.listWorkspaces({});
    expect(workspaces.find(({ id }) => id === workspaceId)?.plan).toBe('small');

    await auth.plans.setPlan({ plan: { name: 'small', rateLimitRequests: 0n, monthlyQuota: 9n } });
    expect(await limitsOf(other.value)).toEqual([undefined, 0n, undefined, 9n]);
    await auth.keys.updateKey({ workspaceId, id: own.id, rateLimit: {} });
    expect(await limitsOf(own.value)).toEqual([undefined, 0n, undefined, 9n]);

    await auth.workspaces.setWorkspacePlan({ workspaceId, plan: '' });
    expect(await limitsOf(other.value)).toEqual([undefined, undefined, undefined, undefined]);
  });

  test('a verified key and its workspace have the webhook limit of the plan', async () => {
    const { workspaceId, value } = await auth.newKey();
    const seen = async () => [
      (await auth.verify(value))?.limits?.maxWebhooks,
      (await auth.workspaces.getWorkspace({ workspaceId })).plan?.maxWebhooks,
    ];
    expect(await seen()).toEqual([undefined, undefined]);
    await auth.plans.setPlan({ plan: { name: 'two-webhooks', maxWebhooks: 2n } });
    await auth.workspaces.setWorkspacePlan({ workspaceId, plan: 'two-webhooks' });
    expect(await seen()).toEqual([2n, 2n]);
    expect(await auth.workspaces.getWorkspace({ workspaceId })).toMatchObject({
      workspace: { id: workspaceId, plan: 'two-webhooks' },
      plan: { name: 'two-webhooks' },
    });
    await expect(auth.workspaces.getWorkspace({ workspaceId: 'ws_none' })).rejects.toMatchObject({ code: 'not_found' });
  });

  test('404 for a nonexistent plan or workspace', async () => {
    const workspaceId = await auth.newWorkspace();
    await auth.plans.setPlan({ plan: { name: 'there' } });
    for (const requested of [
      { workspaceId, plan: 'none' },
      { workspaceId: 'ws_none', plan: 'there' },
      { workspaceId: 'ws_none', plan: '' },
    ]) {
      await expect(auth.workspaces.setWorkspacePlan(requested)).rejects.toMatchObject({ code: 'not_found' });
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
    [{ workspaceRateLimitRequests: -1n }, 'workspace_rate_limit_requests'],
    [{ maxKeys: -1n }, 'max_keys'],
    [{ maxWebhooks: -1n }, 'max_webhooks'],
  ])('a plan with %p is rejected', async (more, field) => {
    await expect(auth.plans.setPlan({ plan: { name: 'p', ...more } })).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field }],
    });
  });

  test('a missing plan is rejected', async () => {
    await expect(auth.plans.setPlan({})).rejects.toMatchObject({ details: [{ field: 'plan' }] });
  });

  test.each([-1n, 0n, 10n ** 12n + 1n])('a key with a limit of %d requests is rejected', async (rateLimitRequests) => {
    await expect(auth.newKey({ rateLimitRequests })).rejects.toMatchObject({
      details: [{ field: 'rate_limit_requests' }],
    });
  });

  test('a workspace has at most as many valid keys as its plan allows, also with concurrent requests', async () => {
    const first = await auth.newKey();
    const { workspaceId, id } = first;
    await auth.plans.setPlan({ plan: { name: 'three-keys', maxKeys: 3n } });
    await auth.workspaces.setWorkspacePlan({ workspaceId, plan: 'three-keys' });
    const created = await Promise.allSettled(Array.from({ length: 6 }, () => auth.newKey({ workspaceId })));
    expect(created.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    for (const one of created) {
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'conflict' });
    }
    await expect(auth.keys.rollKey({ workspaceId, id, overlap: { seconds: 60n } })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('3 valid keys'),
    });
    const { key } = await auth.keys.rollKey({ workspaceId, id });
    await expect(auth.newKey({ workspaceId })).rejects.toMatchObject({ code: 'conflict' });
    await auth.keys.revokeKey({ workspaceId, id: key?.id ?? '' });
    await auth.newKey({ workspaceId });
    await auth.workspaces.setWorkspacePlan({ workspaceId, plan: '' });
    await auth.newKey({ workspaceId });
  });
});
