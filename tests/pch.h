// What every test includes, compiled once: gmock costs more than most tests.
#pragma once
#include <gmock/gmock.h>

#include "cmake/pch.h"
