/** `@Idempotent()` on a controller. On both frameworks and stores. */
import { describe, expect, it } from '@jest/globals';
import { Controller, Post } from '@nestjs/common';
import { ADAPTERS, startHttpApp } from '../support/http-app.js';
import { CASES, expectProblem, expectReplay, KEY, useIdempotentApp } from '../support/idempotent-app.js';
import { AllRoutes } from '../support/idempotent-controller.js';
import { Runs } from '../support/idempotent-routes.js';

describe.each(CASES)('@Idempotent() on a controller, on $adapter with $store', (given) => {
  const app = useIdempotentApp(given);

  it('protects all routes of a controller but those that change nothing, its own and inherited ones', async () => {
    for (const route of ['plain', 'inherited']) {
      const first = await app().post(`/all/${route}`);
      expectReplay(await app().post(`/all/${route}`), first);
      expectProblem(await app().post(`/all/${route}`, {}, {}), 400, 'IDEMPOTENCY_KEY_MISSING');
    }
  });

  it("puts a method's options on top of its controller's", async () => {
    expect(await app().post('/all/own', {}, {})).toMatchObject({ status: 201 });
    await app().post('/all/own');
    expectProblem(await app().post('/all/own'), 409, 'IDEMPOTENCY_UNREPLAYABLE');
    expect((await fetch(`${app().http.url}/all/list`)).status).toBe(200);
  });
});

describe.each(ADAPTERS)('@Idempotent() on a controller, on %s', (adapter) => {
  it('refuses a method that overrides a protected one without saying so', async () => {
    class Overriding extends AllRoutes {
      @Post('plain')
      override plain(): object {
        return super.plain();
      }
    }
    Controller('over')(Overriding);
    Reflect.defineMetadata('design:paramtypes', [Runs], Overriding);
    const http = await startHttpApp({
      adapter,
      store: 'memory',
      controllers: [Overriding],
      providers: [Runs],
    });
    expect(await http.post('/over/plain', {}, KEY)).toMatchObject({ status: 500 });
    expect(http.app.get(Runs).count).toBe(0);
    expect(await http.post('/over/inherited', {}, KEY)).toMatchObject({ status: 201 });
    await http.close();
  });
});
