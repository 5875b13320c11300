/** Lets requests with the admin token through, and nobody while no token is configured. */
import { createHash, timingSafeEqual } from 'node:crypto';
import {
  type CanActivate,
  type ExecutionContext,
  ForbiddenException,
  Injectable,
  UnauthorizedException,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { AppConfig } from '../config/app-config.js';

@Injectable()
export class AdminGuard implements CanActivate {
  constructor(private readonly config: AppConfig) {}

  canActivate(context: ExecutionContext): boolean {
    const { adminToken } = this.config;
    if (adminToken === undefined) {
      throw new ForbiddenException('Admin routes are off: set ADMIN_TOKEN to use them.', {
        errorCode: 'ADMIN_DISABLED',
      });
    }
    const http = context.switchToHttp();
    const token = /^Bearer (.+)$/i.exec(http.getRequest<Request>().headers.authorization ?? '')?.[1];
    if (token === undefined || !isSame(token, adminToken)) {
      http.getResponse<Response>().set('WWW-Authenticate', 'Bearer');
      throw new UnauthorizedException(
        'The header "authorization: Bearer <admin token>" is missing or wrong.',
        {
          errorCode: 'ADMIN_TOKEN_WRONG',
        },
      );
    }
    return true;
  }
}

/** Compares digests: equally long, so that the time it takes tells nothing about the token, nor its length. */
function isSame(received: string, expected: string): boolean {
  return timingSafeEqual(sha256(received), sha256(expected));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
